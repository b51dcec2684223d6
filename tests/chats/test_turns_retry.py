"""Every row of the retry table, through settle, queue and next lease (runs.md, Failure and retry; B73)."""

import pytest

from accounts.models import Notice
from chats.models import Conversation, Message, Turn, TurnAttempt
from schedules.models import Run, Schedule
from tests.support.engine import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    begin,
    claim,
    due_schedule,
    ended,
    failed,
    fire,
    ledger,
    queued_run,
    settle,
)

pytestmark = pytest.mark.django_db

# (situation, code, certainty, retryable, text, a tool with effects has run, tried again)
TABLE = [
    ("could not connect", "provider_unreachable", "definite", True, "", False, True),
    ("could not connect, after an effect", "provider_unreachable", "definite", True, "", True, True),
    ("429", "rate_limited", "definite", True, "", False, True),
    ("503 or 529", "provider_overloaded", "definite", True, "", False, True),
    ("500, 502, 504", "provider_error", "ambiguous", True, "", False, True),
    ("500 after an effect", "provider_error", "ambiguous", True, "", True, False),
    ("no token in time", "provider_timeout", "ambiguous", True, "", False, True),
    ("no token in time, after an effect", "provider_timeout", "ambiguous", True, "", True, False),
    ("connection lost after text", "stream_broken", "ambiguous", False, "Half", False, False),
    ("401, 403", "provider_auth", "definite", False, "", False, False),
    ("404 model", "model_not_found", "definite", False, "", False, False),
    ("400", "provider_rejected", "definite", False, "", False, False),
    ("context too long", "context_too_long", "definite", False, "", False, False),
    ("content refused", "content_refused", "definite", False, "Half", False, False),
    ("step limit", "step_limit", "definite", False, "Half", False, False),
]


@pytest.mark.parametrize("situation", TABLE, ids=[row[0] for row in TABLE])
def test_each_row_of_the_table(alice, situation):
    _, code, certainty, retryable, text, effects, again = situation
    run = queued_run(alice)
    [work] = begin()
    Turn.objects.update(side_effects=effects)
    settle(failed(work, code, certainty=certainty, retryable=retryable, text=text))
    run.refresh_from_db()
    turn = Turn.objects.get()
    attempt = TurnAttempt.objects.get()
    assert (attempt.outcome, attempt.error_code, attempt.certainty, attempt.retryable) == (
        "failed", code, certainty, retryable,
    )  # fmt: skip
    if again:
        assert (run.status, turn.status, turn.not_before) == ("queued", "queued", NOW + 2.5 * SECOND)
        assert Notice.objects.count() == 0
    else:
        assert (run.status, run.reason, turn.status) == ("failed", code, "failed")
        answers = list(Message.objects.filter(role="assistant").values_list("text", "state"))
        assert answers == ([(text, "partial")] if text else [])


def test_two_failures_and_a_success_are_one_conversation_three_attempts_and_one_notice(alice):
    """B73; R3: told once at the end, not per attempt."""
    run = queued_run(alice, notify={"on": "always"})
    now = NOW
    for number in range(3):
        [work] = begin(now)
        settle(failed(work) if number < 2 else ended(work), now=now)
        now += MINUTE
    run.refresh_from_db()
    assert (run.status, run.attempts) == ("succeeded", 3)
    assert list(TurnAttempt.objects.order_by("number").values_list("number", "outcome")) == [
        (1, "failed"), (2, "failed"), (3, "answered"),
    ]  # fmt: skip
    assert Conversation.objects.count() == 1
    assert Message.objects.count() == 2
    assert Notice.objects.count() == 1


def test_usage_of_all_attempts_is_summed(alice):
    run = queued_run(alice)
    [first] = begin()
    settle(failed(first, "provider_error", certainty="ambiguous", input_tokens=100))
    [second] = begin(NOW + MINUTE)
    settle(ended(second, input_tokens=100, output_tokens=7), now=NOW + MINUTE)
    run.refresh_from_db()
    assert (run.input_tokens, run.output_tokens) == (200, 7)


class TestRetryAfter:
    @pytest.mark.parametrize("wait", [60, 1800, 3599])
    def test_it_is_never_undercut(self, alice, wait):
        queued_run(alice, cadence={"kind": "daily", "time": "08:00"})
        [work] = begin()
        settle(failed(work, "rate_limited", retry_after=wait))
        assert claim(NOW + (wait - 1) * SECOND) == []
        assert len(claim(NOW + wait * SECOND)) == 1

    def test_one_that_ends_outside_the_window_settles_at_once(self, alice):
        run = queued_run(alice, cadence={"kind": "daily", "time": "08:00"})
        [work] = begin()
        settle(failed(work, "rate_limited", retry_after=3601))
        run.refresh_from_db()
        assert (run.status, run.reason) == ("failed", "rate_limited")

    @pytest.mark.parametrize(("wait", "status"), [(86_400, "queued"), (86_401, "failed")])
    def test_it_is_honoured_up_to_24_hours(self, alice, wait, status):
        run = queued_run(alice, cadence={"kind": "monthly", "day": 1, "time": "08:00"}, retry_window_seconds=86_400)
        [work] = begin()
        settle(failed(work, "rate_limited", retry_after=wait))
        run.refresh_from_db()
        assert run.status == status


class TestBounds:
    def test_none_starts_once_the_schedules_next_occurrence_is_due(self, alice):
        run = queued_run(alice)
        [work] = begin(NOW + 59 * MINUTE)
        settle(failed(work, retry_after=61), now=NOW + 59 * MINUTE)
        run.refresh_from_db()
        assert (run.status, run.reason) == ("failed", "provider_unreachable")

    def test_a_run_by_hand_does_not_end_with_the_next_occurrence(self, alice):
        run = queued_run(alice, retry_window_seconds=86_400)
        Run.objects.update(kind="manual")
        [work] = begin(NOW + 59 * MINUTE)
        settle(failed(work, retry_after=120), now=NOW + 59 * MINUTE)
        run.refresh_from_db()
        assert run.status == "queued"

    def test_none_starts_with_nothing_left_of_the_deadline(self, alice):
        """R27: summed over attempts; a call of no time would be paid for in vain."""
        run = queued_run(alice, deadline_seconds=30)
        [first] = begin()
        settle(failed(first), now=NOW + 20 * SECOND)
        [second] = begin(NOW + MINUTE)
        settle(failed(second, "provider_overloaded"), now=NOW + 70 * SECOND)
        run.refresh_from_db()
        assert (run.status, run.reason, run.attempts) == ("failed", "provider_overloaded", 2)

    def test_at_most_ten_attempts(self, alice):
        run = queued_run(alice, cadence={"kind": "monthly", "day": 1, "time": "08:00"}, retry_window_seconds=86_400)
        now = NOW
        while works := begin(now):
            settle(failed(works[0]), now=now)
            now += 5 * MINUTE
        run.refresh_from_db()
        assert (run.status, run.attempts, TurnAttempt.objects.count()) == ("failed", 10, 10)

    def test_a_window_of_0_means_no_retry(self, alice):
        run = queued_run(alice, retry_window_seconds=0)
        [work] = begin()
        settle(failed(work))
        run.refresh_from_db()
        assert (run.status, run.attempts) == ("failed", 1)

    def test_the_window_counts_from_the_first_dispatch_whatever_the_wait_for_capacity_was(self, alice):
        run = queued_run(alice, cadence={"kind": "daily", "time": "08:00"}, retry_window_seconds=60)
        [work] = begin(NOW + HOUR)
        settle(failed(work), now=NOW + HOUR)
        run.refresh_from_db()
        assert run.status == "queued"


class TestPause:
    def test_a_retry_wait_ends_with_the_last_error_and_runs_that_never_started_are_cancelled(self, alice):
        """Pause (runs.md)."""
        from schedules.services.switching import schedule_pause

        schedule = due_schedule(alice, overlap_policy="allow")
        fire()
        [work] = begin()
        settle(failed(work, retry_after=3000))
        fire(NOW + 40 * MINUTE)
        Schedule.objects.filter(pk=schedule.pk).update(planned_through=NOW + 59 * MINUTE)
        fire(NOW + HOUR)
        schedule_pause(schedule=schedule, now=NOW + HOUR + SECOND)
        assert ledger(schedule) == [
            ("failed", "provider_unreachable", NOW),
            ("cancelled", "paused", NOW + HOUR),
        ]
        assert not Turn.objects.filter(status="queued").exists()

    def test_a_running_turn_finishes_and_is_not_tried_again(self, alice):
        run = queued_run(alice)
        [work] = begin()
        Schedule.objects.update(enabled=False, next_run_at=None)
        settle(failed(work))
        assert begin(NOW + MINUTE) == []
        run.refresh_from_db()
        assert (run.status, run.reason) == ("failed", "provider_unreachable")


def test_a_retry_that_could_not_start_inside_its_window_ends_with_its_last_error(alice):
    """Back-off inside the window only: after a long stop nothing is called, and the row says what had happened."""
    run = queued_run(alice, cadence={"kind": "daily", "time": "08:00"})
    [work] = begin()
    settle(failed(work))
    assert begin(NOW + DAY - MINUTE) == []
    run.refresh_from_db()
    assert run.status == "failed"
