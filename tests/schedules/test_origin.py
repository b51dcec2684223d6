"""What a run's turn does to its schedule when it starts and ends: blocks at a due instant, counts, zones (R7, C12)."""

from __future__ import annotations

import pytest

from chats.services.turns_recover import leases_recover
from chats.services.turns_start import turns_start
from schedules.models import Run, Schedule
from schedules.services.runs import run_now, run_stop
from tests.support.engine import (
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
    settle,
)

pytestmark = pytest.mark.django_db


class TestBlock:
    """C12, R5: an occurrence that is due when a streak blocks gets its row in the same transaction."""

    def test_what_was_due_at_that_instant_is_cancelled(self, alice):
        schedule = due_schedule(alice, failure_streak=4, retry_window_seconds=0)
        fire()
        [work] = begin()
        settle(failed(work, retryable=False), now=NOW + HOUR + SECOND)  # 09:00 has come, its tick has not
        assert Schedule.objects.get().blocked_reason == "too_many_failures"
        fire(NOW + HOUR + 2 * SECOND)
        assert ledger(schedule) == [("failed", "provider_unreachable", NOW), ("cancelled", "blocked", NOW + HOUR)]

    def test_beyond_the_grace_it_was_missed(self, alice):
        schedule = due_schedule(alice, failure_streak=4, retry_window_seconds=0, misfire_grace_seconds=60)
        fire()
        [work] = begin()
        settle(failed(work, retryable=False), now=NOW + HOUR + 5 * MINUTE)
        assert ledger(schedule)[1] == ("missed", "misfire", NOW + HOUR)

    def test_a_rule_that_cannot_be_read_any_more_does_not_keep_the_failure_from_being_written(self, alice):
        """R3; the next occurrence was due as well, and has its row (C12)."""
        schedule = due_schedule(alice, failure_streak=4, retry_window_seconds=0)
        fire()
        [work] = begin()
        Schedule.objects.update(zone="Mars/Base")
        settle(failed(work, retryable=False), now=NOW + HOUR + SECOND)
        due = ("cancelled", "blocked", NOW + HOUR)
        assert ledger(schedule) == [("failed", "provider_unreachable", NOW), due]
        assert Schedule.objects.get().blocked_reason == "too_many_failures"


class TestMaxRuns:
    """`max_runs` counts scheduled runs that reached a model."""

    def test_one_that_was_stopped_before_its_call_does_not_count(self, alice):
        due_schedule(alice, max_runs=1)
        fire()
        turns_start(turns=claim(), now=NOW)  # the worker is lost before the call
        run = run_stop(run=Run.objects.get(), actor=alice, now=NOW + SECOND)
        leases_recover(now=NOW + 100 * SECOND)
        run.refresh_from_db()
        assert (run.status, run.attempts) == ("stopped", 0)
        schedule = Schedule.objects.get()
        assert (schedule.reached_count, schedule.completed_at, schedule.next_run_at) == (0, None, NOW + HOUR)

    def test_one_that_was_called_and_failed_counts(self, alice):
        due_schedule(alice, max_runs=1, retry_window_seconds=0)
        fire()
        [work] = begin()
        settle(failed(work, retryable=False), now=NOW + SECOND)
        schedule = Schedule.objects.get()
        assert (schedule.reached_count, schedule.completed_at, schedule.next_run_at) == (1, NOW, None)


class TestUnknownZone:
    """R7, C7: a run by hand needs no zone; one that nobody knows stops the calendar and nothing else."""

    def test_a_run_by_hand_works_in_the_owners_zone(self, alice):
        type(alice).objects.update(zone="Asia/Tokyo")
        schedule = due_schedule(alice, zone="Mars/Base", prompt="{{date}} {{time}}")
        fire()
        assert Schedule.objects.get().blocked_reason == "zone_unknown"
        run = run_now(schedule=schedule, actor=alice, now=NOW + SECOND)
        [work] = begin(NOW + SECOND)
        assert work.prompt == "2026-06-01 17:00"
        assert work.turn.conversation.title.endswith("2026-06-01 17:00")
        settle(ended(work), now=NOW + MINUTE)
        run.refresh_from_db()
        assert (run.status, run.reason) == ("succeeded", "")
        assert Schedule.objects.get().blocked_reason == "zone_unknown"
