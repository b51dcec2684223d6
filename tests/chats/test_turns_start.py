"""From leased to calling: the gate once more, conversation, messages, attempt; a refusal calls nobody."""

import pytest
from django.db import IntegrityError

from accounts.models import GlobalStop
from chats.models import Conversation, Message, Turn, TurnAttempt
from chats.services import turns_start as module
from chats.services.turns_start import turns_dispatch, turns_start
from chats.services.turns_stop import turn_stop
from schedules.models import Run, Schedule
from tests.support.engine import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    begin,
    claim,
    failed,
    queued_run,
    row,
    settle,
)

pytestmark = pytest.mark.django_db


def test_a_started_turn_has_its_conversation_what_the_user_said_and_a_draft_of_the_answer(alice, make_project):
    """The walk of a prompt: schedule, run, message; filed under the run's recorded project."""
    project = make_project(owner=alice)
    run = queued_run(alice, project=project, name="News", prompt="What is new?", zone="Europe/Berlin")
    [work] = begin(NOW + SECOND)
    run.refresh_from_db()
    assert (run.status, run.started_at, run.late) == ("running", NOW + SECOND, False)
    conversation = run.conversation
    assert (conversation.owner_id, conversation.project_id, conversation.title, conversation.origin) == (
        alice.pk, project.pk, "News · 2026-06-01 10:00", "schedule",
    )  # fmt: skip
    said, draft = Message.objects.filter(conversation=conversation).order_by("sequence")
    assert (said.role, said.text, said.state) == ("user", "What is new?", "complete")
    assert (draft.role, draft.text, draft.state, draft.fence) == ("assistant", "", "streaming", work.fence)
    assert (draft.pk, work.prompt, work.history) == (work.message_id, "What is new?", ())
    assert draft.source["agent"] == run.agent.name
    attempt = TurnAttempt.objects.get(pk=work.attempt_id)
    assert (attempt.number, attempt.fence, attempt.dispatched_at) == (1, work.fence, NOW + SECOND)


def test_a_batch_is_started_together(alice, bob):
    for owner in (alice, bob, alice):
        queued_run(owner)
    assert len(begin()) == 3
    assert Conversation.objects.count() == 3
    assert Run.objects.filter(status="running", conversation__isnull=False).count() == 3


class TestRetry:
    @pytest.fixture
    def again(self, alice):
        """Return the first and the second attempt's work of one run."""

        def make(**fields):
            queued_run(alice, **fields)
            [first] = begin()
            settle(failed(first))
            [second] = begin(NOW + MINUTE)
            return first, second

        return make

    def test_it_finds_its_message_and_takes_the_draft_over(self, again):
        """One opening user message and one answer per turn, whatever the number of attempts."""
        first, second = again()
        assert Message.objects.count() == 2
        assert Conversation.objects.count() == 1
        assert second.message_id == first.message_id
        assert Message.objects.get(role="assistant").fence == second.fence == first.fence + 1
        assert list(TurnAttempt.objects.values_list("number", flat=True)) == [1, 2]
        assert second.history == ()

    def test_what_a_dead_attempt_left_is_no_part_of_the_next(self, alice):
        queued_run(alice)
        [first] = begin()
        Message.objects.filter(pk=first.message_id).update(text="Half of an ans")
        Turn.objects.update(status="queued", lease_expires_at=None)
        begin(NOW + MINUTE)
        assert Message.objects.get(role="assistant").text == ""

    def test_the_model_hears_what_the_page_shows(self, again):
        """A variable that changed meanwhile does not make the stored message a lie."""
        _, second = again(prompt="Since {{last_run}}: what is new?")
        assert second.prompt == Message.objects.get(role="user").text == "Since never: what is new?"

    def test_time_already_spent_counts_for_the_deadline(self, alice):
        """R27: summed over attempts; waiting does not count."""
        queued_run(alice, deadline_seconds=100)
        [first] = begin()
        assert first.seconds_left == 100
        settle(failed(first), now=NOW + 30 * SECOND)
        [second] = begin(NOW + HOUR - MINUTE)
        assert second.seconds_left == 70

    def test_one_that_the_gate_refuses_ends_with_the_error_of_its_last_attempt(self, alice):
        queued_run(alice)
        [first] = begin()
        settle(failed(first, "provider_overloaded"))
        alice.groups.clear()
        assert begin(NOW + MINUTE) == []
        run = Run.objects.get()
        assert (run.status, run.reason, run.attempts) == ("failed", "provider_overloaded", 1)
        assert list(Message.objects.values_list("role", flat=True)) == ["user"]

    @pytest.mark.parametrize("off", [{"enabled": False}, {"blocked_reason": "agent_deleted"}])
    def test_a_schedule_that_was_switched_off_or_blocked_gets_no_further_try(self, alice, off):
        """Gate row 6; pause: a retry wait ends with the last error."""
        run = queued_run(alice)
        [first] = begin()
        settle(failed(first))
        Schedule.objects.update(next_run_at=None, **off)
        assert begin(NOW + MINUTE) == []
        run.refresh_from_db()
        assert (run.status, run.reason) == ("failed", "provider_unreachable")


class TestRefused:
    """R16: before anything is billed, leaving a row with its reason; only a decision at fire blocks."""

    @pytest.mark.parametrize(
        ("change", "status", "reason"),
        [
            (lambda run: run.owner.groups.clear(), "refused", "permission_revoked"),
            (lambda run: type(run.owner).objects.update(is_active=False), "refused", "owner_inactive"),
            (lambda run: type(run.agent).objects.update(enabled=False), "refused", "agent_disabled"),
            (lambda run: type(run.agent).objects.update(deleted_at=NOW), "refused", "agent_deleted"),
            (lambda run: Schedule.objects.update(enabled=False, next_run_at=None), "cancelled", "paused"),
            (lambda run: Schedule.objects.update(blocked_reason="x", next_run_at=None), "cancelled", "blocked"),
            (lambda run: Schedule.objects.update(deleting_at=NOW, next_run_at=None), "cancelled", "deleted"),
        ],
    )
    def test_a_refusal_settles_turn_and_run_without_a_call(self, alice, change, status, reason):
        run = queued_run(alice)
        change(run)
        before = Schedule.objects.get().blocked_reason
        assert begin() == []
        run.refresh_from_db()
        assert (run.status, run.reason, run.settled_at, run.conversation_id) == (status, reason, NOW, None)
        assert run.turn.status == "cancelled"
        assert not TurnAttempt.objects.exists()
        assert not Message.objects.exists()
        assert Schedule.objects.get().blocked_reason == before

    def test_a_new_requirement_refuses_a_run_recorded_without_a_project_and_leaves_its_schedule(self, alice, policy):
        """P11."""
        run = queued_run(alice)
        policy(alice, require_project=True)
        begin()
        run.refresh_from_db()
        assert (run.status, run.reason) == ("refused", "project_required")
        assert Schedule.objects.get().is_on

    def test_a_pin_that_moved_since_refuses_nothing(self, alice, make_project, policy):
        """P11: the recorded destination is what counts."""
        first = make_project(owner=alice)
        queued_run(alice, project=first)
        make_project(owner=alice, name="Team")
        policy(alice, pinned_name="Team")
        [work] = begin()
        assert work.turn.conversation.project_id == first.pk

    def test_a_recorded_project_that_is_gone_refuses(self, alice, make_project):
        """P11."""
        project = make_project(owner=alice)
        run = queued_run(alice, project=project)
        type(project).objects.update(deleted_at=NOW)
        begin()
        run.refresh_from_db()
        assert (run.status, run.reason) == ("refused", "project_deleted")

    def test_a_completed_schedule_does_not_refuse_its_last_run(self, alice):
        """Gate row 6."""
        queued_run(alice, cadence={"kind": "once", "at": "2026-06-01T08:00"})
        assert Schedule.objects.get().completed_at == NOW
        assert len(begin()) == 1

    def test_a_run_by_hand_starts_on_a_paused_schedule(self, alice):
        """R7."""
        queued_run(alice)
        Run.objects.update(kind="manual")
        Schedule.objects.update(enabled=False, next_run_at=None)
        assert len(begin()) == 1


class TestWait:
    def test_a_stop_that_comes_up_after_the_lease_gives_the_turn_back_as_it_was(self, alice):
        """Gate row 1: nothing is written, nothing is lost, its place in the queue stays."""
        run = queued_run(alice)
        leased = claim(NOW + MINUTE)
        GlobalStop.objects.create(on=True, reason="Maintenance")
        assert turns_start(turns=leased, now=NOW + MINUTE) == []
        turn = Turn.objects.get()
        assert (turn.status, turn.queued_at, turn.attempts_made, turn.leased_by) == ("queued", NOW, 0, "")
        assert Run.objects.get(pk=run.pk).status == "queued"
        GlobalStop.objects.update(on=False)
        assert len(begin(NOW + 2 * MINUTE)) == 1


class TestLostLease:
    """R4: who lost the lease between the steps starts nothing and calls nobody."""

    def test_before_the_start(self, alice):
        queued_run(alice)
        leased = claim()
        Turn.objects.update(fence=2)
        before = row(leased[0])
        assert turns_start(turns=leased, now=NOW) == []
        assert row(leased[0]) == before
        assert not Message.objects.exists()

    @pytest.mark.parametrize("lost_by", [{"fence": 9}, {"status": "queued", "lease_expires_at": None}])
    def test_between_start_and_call(self, alice, lost_by):
        queued_run(alice)
        works = turns_start(turns=claim(), now=NOW)
        Turn.objects.update(**lost_by)
        assert turns_dispatch(works=works, now=NOW) == []
        assert Turn.objects.get().attempts_made == 0
        assert TurnAttempt.objects.get().dispatched_at is None


def test_a_stop_between_lease_and_start_calls_nobody(alice):
    """Stop: what was asked to stop does not begin."""
    run = queued_run(alice)
    [turn] = claim()
    turn_stop(turn_id=turn.pk, reason="stopped_by_owner", now=NOW)
    assert turns_start(turns=[turn], now=NOW + SECOND) == []
    run.refresh_from_db()
    assert (run.status, run.reason) == ("stopped", "stopped_by_owner")
    assert not TurnAttempt.objects.exists()


@pytest.mark.parametrize(("spent", "starts"), [(59, 1), (60, 0)])
def test_a_deadline_that_is_used_up_calls_nobody(alice, spent, starts):
    """R27: summed over attempts."""
    run = queued_run(alice, deadline_seconds=60)
    Turn.objects.update(leased_seconds=spent)
    assert [work.seconds_left for work in begin()] == [60 - spent] * starts
    run.refresh_from_db()
    assert (run.status, run.reason) == (("running", "") if starts else ("timed_out", "deadline"))
    assert TurnAttempt.objects.count() == starts


def test_a_crash_in_the_middle_of_a_start_leaves_nothing_of_it(alice, monkeypatch):
    """One transaction: conversation, messages, attempt, run."""
    run = queued_run(alice)
    leased = claim()
    before = row(leased[0])

    def crash(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.origin_of("schedule"), "started", crash)
    with pytest.raises(KeyboardInterrupt):
        turns_start(turns=leased, now=NOW)
    assert row(leased[0]) == before
    assert Run.objects.get(pk=run.pk).status == "queued"
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()
    assert not TurnAttempt.objects.exists()


def test_a_second_opening_message_of_a_turn_is_refused_by_the_database(alice):
    queued_run(alice)
    [work] = begin()
    with pytest.raises(IntegrityError):
        Message.objects.create(
            conversation=work.turn.conversation, turn=work.turn, sequence=9, role="user", text="again", created_at=NOW
        )
