"""Waits: the global stop and its end, capacity, providers, retries against the next occurrence (R23, R24, R38)."""

import pytest

from accounts.services.stops import global_stop_set
from schedules.models import Run, Schedule
from schedules.services.again import run_again
from schedules.services.editing import schedule_edit, schedule_resume
from schedules.services.runs import run_now
from tests.factories import make_run
from tests.support.engine import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    begin,
    due_schedule,
    ended,
    failed,
    fire,
    ledger,
    queued_run,
    settle,
)

pytestmark = pytest.mark.django_db
DAILY = {"kind": "daily", "time": "08:00"}


def outcome(run):
    run.refresh_from_db()
    return run.status, run.reason


class TestEndOfAStop:
    """R38."""

    def test_waiting_for_capacity_before_a_short_stop_is_no_lateness(self, alice, olivia):
        run = queued_run(alice, cadence=DAILY)  # no worker is free for twenty minutes; the grace is fifteen
        global_stop_set(on=True, reason="A moment.", actor=olivia, now=NOW + 20 * MINUTE)
        global_stop_set(on=False, actor=olivia, now=NOW + 20 * MINUTE + 5 * SECOND)
        begin(NOW + 20 * MINUTE + 6 * SECOND)
        assert outcome(run) == ("running", "")

    def test_waiting_behind_the_run_before_is_no_lateness(self, alice, olivia):
        schedule = due_schedule(alice, overlap_policy="queue_one", deadline_seconds=3600)
        fire(NOW + 10 * MINUTE)
        [first] = begin(NOW + 50 * MINUTE)
        fire(NOW + HOUR)
        global_stop_set(on=True, reason="A moment.", actor=olivia, now=NOW + 80 * MINUTE)
        global_stop_set(on=False, actor=olivia, now=NOW + 80 * MINUTE + 5 * SECOND)
        settle(ended(first), now=NOW + 81 * MINUTE)
        begin(NOW + 82 * MINUTE)
        assert [row[0] for row in ledger(schedule)] == ["succeeded", "running"]


class TestRetriesAndTheNext:
    """None starts once the schedule's next occurrence is due."""

    def test_the_next_one_does_not_wait_for_a_retry_that_may_never_start(self, alice):
        schedule = due_schedule(alice, overlap_policy="queue_one")
        fire(NOW)
        [first] = begin(NOW + 55 * MINUTE)  # capacity was short
        fire(NOW + HOUR)
        settle(failed(first, "rate_limited", retry_after=50 * 60.0), now=NOW + HOUR + MINUTE)
        begin(NOW + HOUR + 2 * MINUTE)
        assert [row[:2] for row in ledger(schedule)] == [("failed", "rate_limited"), ("running", "")]

    def test_a_wait_that_ends_outside_the_window_is_rate_limited_whatever_its_status(self, alice):
        """A `Retry-After` that ends outside the window settles `failed: rate_limited` at once; 503 may carry one."""
        run = queued_run(alice, cadence=DAILY)
        [work] = begin()
        settle(failed(work, "provider_overloaded", retry_after=7200.0))
        assert outcome(run) == ("failed", "rate_limited")

    def test_the_card_shows_no_run_that_waits_for_its_next_try(self, alice):
        """`last_run`: newest occurrence that is not `queued`."""
        schedule = due_schedule(alice)
        fire(NOW)
        settle(*[ended(work) for work in begin()], now=NOW)
        first = Run.objects.get()
        fire(NOW + HOUR)
        [work] = begin(NOW + HOUR)
        settle(failed(work), now=NOW + HOUR)
        assert Run.objects.order_by("-pk")[0].status == "queued"
        assert Schedule.objects.get(pk=schedule.pk).last_run_id == first.pk


class TestSnapshots:
    def test_run_again_keeps_the_text_of_the_run_that_it_repeats(self, alice, olivia):
        """interfaces.md, Admin: a settled run's snapshot as a new manual run, whatever its schedule says by now."""
        schedule = due_schedule(alice, at=NOW + HOUR, prompt="As it was.")
        again = run_again(run=make_run(schedule=schedule, status="failed"), actor=olivia, now=NOW)
        schedule_edit(schedule=schedule, body={"prompt": "Edited."}, now=NOW + SECOND)
        [work] = begin(NOW + 2 * SECOND)
        again.refresh_from_db()
        assert (again.prompt, work.prompt) == ("As it was.", "As it was.")

    def test_a_run_that_waits_while_its_schedule_is_resumed_is_of_the_new_revision(self, alice):
        """Edit: what raises the revision refreshes the runs that never started; else their failures count for nothing."""
        schedule = due_schedule(alice, at=NOW + HOUR)
        Schedule.objects.update(blocked_reason="too_many_failures", next_run_at=None, next_occurrence_at=None)
        schedule.refresh_from_db()
        run = run_now(schedule=schedule, actor=alice, now=NOW)
        schedule_resume(schedule=schedule, now=NOW + SECOND)
        [work] = begin(NOW + 2 * SECOND)
        settle(failed(work, "provider_rejected", retryable=False), now=NOW + 3 * SECOND)
        assert outcome(run)[0] == "failed"
        assert Schedule.objects.get().failure_streak == 1
