"""What follows from an end: streaks and blocks, hostile text, Stop against the finish (R10 to R15, R39)."""

from decimal import Decimal

import pytest

from accounts.models import Notice, User
from chats.models import Message, TurnAttempt
from chats.services.turns_settle import clean, turns_settle
from chats.services.turns_stop import turn_stop
from schedules.models import Run, Schedule
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
    everything,
    failed,
    fire,
    ledger,
    queued_run,
    settle,
)

pytestmark = pytest.mark.django_db
FINAL = {"retryable": False}


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

    def test_every_active_operator_is_told_of_a_refused_key_once_a_day(self, alice, olivia):
        """R3, R12: "The operator has been told" is written in the transaction that settles."""
        User.objects.create_user(email="gone@example.org", is_superuser=True, is_active=False)
        _, works = self.runs_of(alice, 4)
        settle(failed(works[0], "provider_auth", **FINAL), failed(works[1], "provider_rejected", **FINAL))
        told = Notice.objects.filter(code="provider_key_refused")
        assert [notice.user for notice in told] == [olivia]
        assert told[0].params == {"provider": works[0].turn.agent.model.provider.name}
        settle(failed(works[2], "provider_auth", **FINAL), now=NOW + HOUR)
        assert told.all().count() == 1
        settle(failed(works[3], "provider_auth", **FINAL), now=NOW + DAY)
        assert told.all().count() == 2


class TestInterrupted:
    """A prompt that kills workers is told of: three `interrupted` in a row."""

    def lose(self, works):
        for work in works:
            lost = ended(work, "lost", "Half an", code="worker_lost", certainty="ambiguous", retryable=True)
            settle(lost, now=NOW + DAY)

    def told(self):
        rows = Notice.objects.filter(code="runs_interrupted").order_by("pk")
        return [(notice.user.display_name, notice.params["count"]) for notice in rows]

    runs_of = TestStreaks.runs_of

    def test_owner_and_operators_are_told_once_of_the_third_and_not_of_the_fourth(self, alice, olivia):
        _, works = self.runs_of(alice, 4, notify={"on": "never"})
        self.lose(works[:2])
        assert self.told() == []
        self.lose(works[2:])
        assert self.told() == [("Alice", 3), ("Olivia", 3)]
        assert set(Run.objects.values_list("status", flat=True)) == {"interrupted"}
        assert Schedule.objects.get().is_on

    def test_another_end_in_between_begins_anew(self, alice):
        _, works = self.runs_of(alice, 5)
        self.lose(works[:1])
        settle(ended(works[1]), now=NOW + DAY)
        self.lose(works[2:4])
        assert self.told() == []
        self.lose(works[4:])
        assert self.told() == [("Alice", 3)]

    def test_runs_of_an_earlier_wording_do_not_count(self, alice):
        _, works = self.runs_of(alice, 3)
        self.lose(works[:2])
        Schedule.objects.update(revision=2)
        self.lose(works[2:])
        assert self.told() == []


class TestChanged:
    """Told "when the answer differs": of another answer, and of failures."""

    ANSWERS = [("Rain.", True), ("  Rain.\n", False), (None, True), ("Rain.", False), ("Sun.", True)]

    def test_only_another_answer_than_the_last_one_and_failures_are_told(self, alice):
        due_schedule(alice, overlap_policy="allow", notify={"on": "changed", "channels": []})
        for hour, (text, told) in enumerate(self.ANSWERS):
            now, before = NOW + hour * HOUR, Notice.objects.count()
            fire(now)
            [work] = begin(now)
            settle(ended(work, text=text) if text else failed(work, "provider_rejected", **FINAL), now=now)
            assert Notice.objects.count() - before == told, (hour, text)


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
