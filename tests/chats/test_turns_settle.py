"""The end of a lease: everything that follows in one transaction, once (R2 to R4, R10 to R15, R39)."""

from decimal import Decimal

import pytest

from accounts.models import Notice
from chats.lifecycle import Lost
from chats.models import Conversation, Message, Turn, TurnAttempt
from chats.services import turns_settle as module
from chats.services.turns_settle import clean, turns_settle
from chats.services.turns_stop import turn_stop
from schedules import lifecycle as schedule_lifecycle
from schedules.models import Run, Schedule
from schedules.services import origin
from tests.support.engine import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    at_once,
    begin,
    due_schedule,
    ended,
    failed,
    fire,
    ledger,
    queued_run,
    row,
    settle,
)

pytestmark = pytest.mark.django_db
FINAL = {"retryable": False}


def everything():
    """Return every row that a settle may touch."""
    tables = (Turn, TurnAttempt, Message, Conversation, Run, Schedule, Notice)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in tables}


class TestAnswered:
    def test_one_settle_writes_message_usage_turn_run_card_and_counters(self, alice, make_agent, make_model):
        """R3."""
        model = make_model(price_input=Decimal(3), price_cached=Decimal("0.3"), price_output=Decimal(15))
        run = queued_run(alice, agent=make_agent(model=model), notify={"on": "always"})
        [work] = begin()
        usage = {"input_tokens": 1200, "cached_tokens": 200, "output_tokens": 400}
        assert settle(ended(work, text="It rains.", model_messages="[]", library="lib 1", **usage), now=NOW + MINUTE)
        message = Message.objects.get(role="assistant")
        assert (message.text, message.state, message.model_messages, message.library) == (
            "It rains.", "complete", "[]", "lib 1",
        )  # fmt: skip
        turn = Turn.objects.get()
        assert (turn.status, turn.settled_at, turn.leased_by, turn.error_code) == ("completed", NOW + MINUTE, "", "")
        assert (turn.input_tokens, turn.cached_tokens, turn.output_tokens) == (1200, 200, 400)
        assert turn.cost == Decimal("0.009060")  # 1,000 at 3, 200 at 0.3, 400 at 15 per million
        run.refresh_from_db()
        assert (run.status, run.reason, run.settled_at) == ("succeeded", "", NOW + MINUTE)
        assert (run.attempts, run.input_tokens, run.output_tokens, run.cost) == (1, 1200, 400, turn.cost)
        assert run.duration_seconds == 60
        schedule = Schedule.objects.get()
        assert (schedule.succeeded_count, schedule.reached_count, schedule.last_run_id) == (1, 1, run.pk)
        assert schedule.streak_through == NOW
        conversation = Conversation.objects.get()
        assert (conversation.unread, conversation.updated_at) == (True, NOW + MINUTE)
        assert Notice.objects.get().dedupe_key == f"settled:{run.public_id}"
        attempt = TurnAttempt.objects.get()
        assert (attempt.outcome, attempt.ended_at, attempt.input_tokens) == ("answered", NOW + MINUTE, 1200)

    @pytest.mark.parametrize("text", ["", "  \n\t"])
    def test_an_answer_without_a_word_is_empty_and_leaves_no_bubble(self, alice, text):
        """G14, B71: not a success, not a failure."""
        run = queued_run(alice)
        Schedule.objects.update(failure_streak=3)
        [work] = begin()
        settle(ended(work, text=text))
        run.refresh_from_db()
        assert (run.status, run.reason) == ("empty", "empty_answer")
        assert list(Message.objects.values_list("role", flat=True)) == ["user"]
        assert (Schedule.objects.get().succeeded_count, Schedule.objects.get().failure_streak) == (0, 0)

    def test_an_answer_that_was_cut_says_so(self, alice):
        run = queued_run(alice)
        [work] = begin()
        settle(ended(work, cut=True))
        run.refresh_from_db()
        assert (run.status, run.reason) == ("succeeded", "output_limit")


class TestOneTransaction:
    """R3: broken anywhere in the middle, nothing of it is there."""

    STEPS = [
        (module.lifecycle, "settle_many"),
        (module, "_finish_messages"),
        (schedule_lifecycle, "settle_many"),
        (schedule_lifecycle, "show_last"),
        (schedule_lifecycle, "write_counters"),
        (origin, "tell_blocked"),
        (origin, "tell_settled"),
    ]

    @pytest.mark.parametrize(("room", "step"), STEPS, ids=[step for _, step in STEPS])
    def test_a_crash_after_any_step_leaves_no_trace(self, alice, monkeypatch, room, step):
        queued_run(alice)
        Schedule.objects.update(failure_streak=4)
        [work] = begin()
        before = everything()
        real = getattr(room, step)

        def crash(*args, **kwargs):
            real(*args, **kwargs)
            raise KeyboardInterrupt  # as a kill: nothing in the product handles it

        monkeypatch.setattr(room, step, crash)
        end = failed(work, **FINAL)
        with pytest.raises(KeyboardInterrupt):
            settle(end)
        assert everything() == before
        monkeypatch.undo()
        assert settle(end) == {work.turn.pk}
        assert Schedule.objects.get().blocked_reason == "too_many_failures"
        assert Notice.objects.count() == 2


class TestOnce:
    """R2, R4: a stale fence changes nothing; a terminal status never changes."""

    def test_a_second_settle_is_lost(self, alice):
        queued_run(alice)
        [work] = begin()
        settle(ended(work))
        before = everything()
        assert settle(failed(work), now=NOW + MINUTE) == set()
        assert everything() == before

    def test_a_worker_that_wakes_after_its_turn_was_leased_again_writes_nothing(self, alice):
        queued_run(alice)
        [stale] = begin()
        settle(ended(stale, "lost", "", certainty="definite"))
        [fresh] = begin(NOW + MINUTE, worker="host/2/b")
        before = everything()
        assert settle(ended(stale, text="An old answer.")) == set()
        assert everything() == before
        settle(ended(fresh, text="The answer."))
        assert Message.objects.get(role="assistant").text == "The answer."

    def test_of_a_batch_only_the_lost_one_is_left_out(self, alice, bob):
        queued_run(alice)
        queued_run(bob)
        mine, lost = begin()
        Turn.objects.filter(pk=lost.turn.pk).update(fence=7)
        assert settle(ended(mine), ended(lost)) == {mine.turn.pk}
        assert sorted(Run.objects.values_list("status", flat=True)) == ["running", "succeeded"]

    def test_a_run_that_moved_under_the_settle_undoes_it(self, alice, monkeypatch):
        """R4: the run is moved from the state that was read, or nothing is written at all."""
        run = queued_run(alice)
        [work] = begin()
        real = schedule_lifecycle.settle_many

        def moved_meanwhile(moves, *, now):
            Run.objects.filter(pk=run.pk).update(status="stopped", settled_at=NOW)
            return real(moves, now=now)

        monkeypatch.setattr(schedule_lifecycle, "settle_many", moved_meanwhile)
        with pytest.raises(Lost):
            settle(ended(work))
        assert Turn.objects.get().status == "running"

    @pytest.mark.django_db(transaction=True)
    def test_of_two_at_once_exactly_one_wins(self, alice):
        queued_run(alice)
        [work] = begin()
        ends = [ended(work, text=f"Answer {n}.") for n in range(4)]
        won = at_once([lambda end=end: turns_settle(ends=[end], now=NOW) for end in ends])
        assert sorted(map(len, won)) == [0, 0, 0, 1]
        winner = next(end for end, ids in zip(ends, won, strict=True) if ids)
        assert Message.objects.get(role="assistant").text == winner.text
        assert Schedule.objects.get().succeeded_count == 1


class TestStreaks:
    """R10 to R13, R15."""

    def runs_of(self, alice, count, **fields):
        """Return a schedule and started works of `count` consecutive occurrences."""
        schedule = due_schedule(alice, overlap_policy="allow", **fields)
        works = []
        for hour in range(count):
            fire(NOW + hour * HOUR)
            works += begin(NOW + hour * HOUR)
        return schedule, works

    def test_the_fifth_failure_in_a_row_blocks_and_tells_once(self, alice):
        schedule, works = self.runs_of(alice, 5)
        for work in works[:4]:
            settle(failed(work, "provider_rejected", **FINAL), now=NOW + DAY)
        assert Schedule.objects.get().is_on
        settle(failed(works[4], "provider_rejected", **FINAL), now=NOW + DAY)
        schedule.refresh_from_db()
        assert (schedule.blocked_reason, schedule.next_run_at) == ("too_many_failures", None)
        assert schedule.blocked_params["count"] == 5
        assert Notice.objects.filter(code="schedule_blocked").count() == 1

    def test_five_at_once_in_one_batch_count_like_one_after_the_other(self, alice):
        schedule, works = self.runs_of(alice, 5)
        settle(*[failed(work, **FINAL) for work in reversed(works)], now=NOW + DAY)
        schedule.refresh_from_db()
        assert (schedule.failure_streak, schedule.blocked_reason) == (5, "too_many_failures")
        assert Notice.objects.filter(code="schedule_blocked").count() == 1

    def test_an_older_run_that_settles_late_blocks_nothing(self, alice, limit):
        """R10: also when the limit was lowered below the streak meanwhile."""
        schedule, works = self.runs_of(alice, 3)
        settle(failed(works[1], **FINAL), now=NOW + DAY)
        settle(failed(works[2], **FINAL), now=NOW + DAY)
        limit(alice, max_failures=2)
        settle(failed(works[0], **FINAL), now=NOW + DAY)
        schedule.refresh_from_db()
        assert (schedule.failure_streak, schedule.blocked_reason) == (2, "")

    def test_a_run_of_an_older_revision_is_counted_and_shown_and_changes_nothing_else(self, alice):
        """R11, B70: what the owner edited meanwhile stays."""
        schedule, works = self.runs_of(alice, 2)
        Schedule.objects.update(revision=2, name="Renamed", enabled=False, next_run_at=None, failure_streak=4)
        settle(failed(works[0], **FINAL), now=NOW + DAY)
        settle(ended(works[1]), now=NOW + DAY)
        schedule.refresh_from_db()
        assert (schedule.name, schedule.enabled, schedule.failure_streak) == ("Renamed", False, 4)
        assert (schedule.succeeded_count, schedule.blocked_reason) == (1, "")
        assert schedule.last_run.scheduled_for == NOW + HOUR

    def test_a_late_finish_after_a_block_or_a_completion_changes_no_state(self, alice):
        """G9."""
        schedule, works = self.runs_of(alice, 2, until=NOW + HOUR)
        schedule.refresh_from_db()
        assert schedule.completed_at == NOW + HOUR
        Schedule.objects.update(failure_streak=4, blocked_reason="agent_deleted")
        settle(failed(works[0], **FINAL), now=NOW + DAY)
        schedule.refresh_from_db()
        assert (schedule.blocked_reason, schedule.completed_at) == ("agent_deleted", NOW + HOUR)
        assert Notice.objects.filter(code="schedule_blocked").count() == 0

    def test_a_key_that_the_provider_refuses_is_the_operators_to_mend(self, alice):
        """R12."""
        schedule, works = self.runs_of(alice, 1, failure_streak=4)
        settle(failed(works[0], "provider_auth", **FINAL))
        schedule.refresh_from_db()
        assert (schedule.failure_streak, schedule.blocked_reason) == (4, "")
        assert ledger(schedule) == [("failed", "provider_auth", NOW)]


class TestHostileText:
    """R39: whatever a provider sends, and no error text can make a settle fail."""

    DIRTY = "a\x00b \ud83d lone \udc00 \U0001f600 c"
    CLEANED = "ab ? lone ? \U0001f600 c"

    def test_nul_and_lone_surrogates_are_replaced_and_whole_pairs_stay(self):
        assert clean(self.DIRTY) == self.CLEANED
        assert len(clean("x" * 5000)) == 1000
        assert len(clean("x" * 5000, None)) == 5000

    def test_they_reach_every_column_without_harm(self, alice):
        run = queued_run(alice)
        [work] = begin()
        settle(ended(work, text=self.DIRTY, model_messages=self.DIRTY))
        message = Message.objects.get(role="assistant")
        assert (message.text, message.model_messages) == (self.CLEANED, self.CLEANED)
        assert Run.objects.get(pk=run.pk).status == "succeeded"

    def test_an_error_text_of_any_kind_and_length(self, alice):
        run = queued_run(alice)
        [work] = begin()
        settle(failed(work, detail=self.DIRTY + "x" * 5000, **FINAL))
        run.refresh_from_db()
        assert run.error_text.startswith(self.CLEANED)
        assert len(run.error_text) == len(TurnAttempt.objects.get().error_text) == 1000

    @pytest.mark.parametrize("tokens", [-5, 2**31, 10**15])
    def test_nonsense_figures_of_a_provider(self, alice, make_agent, make_model, tokens):
        model = make_model(price_input=Decimal(999_999), price_output=Decimal(999_999))
        run = queued_run(alice, agent=make_agent(model=model))
        [work] = begin()
        settle(ended(work, input_tokens=tokens, cached_tokens=tokens, output_tokens=tokens))
        run.refresh_from_db()
        assert run.status == "succeeded"
        assert 0 <= run.input_tokens <= 2**31 - 1
        assert run.cost >= 0


class TestStopAndFinish:
    """Stop: exactly one wins, the text is whole in both, and a stop is never shown as a failure."""

    @pytest.mark.parametrize(
        ("end", "status", "reason"),
        [
            (ended, "succeeded", ""),
            (lambda work: ended(work, "stopped", "Half", code="stopped_by_owner"), "stopped", "stopped_by_owner"),
            (failed, "stopped", "stopped_by_owner"),
            (lambda work: failed(work, "internal", retryable=False), "stopped", "stopped_by_owner"),
            (lambda work: ended(work, "lost", "", certainty="ambiguous"), "stopped", "stopped_by_owner"),
            (lambda work: ended(work, "timed_out", "Half", code="deadline"), "timed_out", "deadline"),
        ],
    )
    def test_what_ends_after_stop_was_pressed(self, alice, end, status, reason):
        run = queued_run(alice)
        [work] = begin()
        turn_stop(turn_id=work.turn.pk, reason="stopped_by_owner", now=NOW)
        settle(end(work), now=NOW + SECOND)
        run.refresh_from_db()
        assert (run.status, run.reason) == (status, reason)

    def test_a_stop_keeps_what_was_written(self, alice):
        queued_run(alice)
        [work] = begin()
        settle(ended(work, "stopped", "Half an ans", code="stopped_by_owner"))
        message = Message.objects.get(role="assistant")
        assert (message.text, message.state) == ("Half an ans", "partial")

    def test_a_stop_after_the_end_changes_nothing(self, alice):
        queued_run(alice)
        [work] = begin()
        settle(ended(work))
        before = everything()
        assert turn_stop(turn_id=work.turn.pk, reason="stopped_by_owner", now=NOW + MINUTE) is False
        assert everything() == before

    @pytest.mark.django_db(transaction=True)
    def test_both_at_once(self, alice):
        run = queued_run(alice)
        [work] = begin()
        at_once([
            lambda: turn_stop(turn_id=work.turn.pk, reason="stopped_by_owner", now=NOW),
            lambda: turns_settle(ends=[ended(work, text="The whole answer.")], now=NOW),
        ])  # fmt: skip
        run.refresh_from_db()
        assert run.status == "succeeded"
        assert Message.objects.get(role="assistant").text == "The whole answer."


def test_a_run_whose_schedule_was_erased_still_settles(alice, make_turn, make_run):
    """A trial has no schedule either."""
    turn = make_turn(owner=alice, origin="schedule")
    run = make_run(owner=alice, agent=turn.agent, turn=turn, status="queued")
    [work] = begin()
    settle(ended(work))
    run.refresh_from_db()
    assert run.status == "succeeded"


def test_a_persons_turn_settles_without_anybody_to_tell(alice, make_turn, make_conversation):
    conversation = make_conversation(owner=alice)
    turn = make_turn(
        owner=alice, conversation=conversation, origin="person", lane="interactive", status="running", fence=1,
        leased_by="host/1/a", leased_at=NOW, lease_expires_at=NOW + MINUTE,
    )  # fmt: skip
    from chats.services.turns_settle import Ended

    assert settle(Ended(turn.pk, 1, "failed", "", code="provider_error", certainty="ambiguous")) == {turn.pk}
    assert row(turn)["status"] == "failed"
