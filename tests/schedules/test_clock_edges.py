"""Marks, ends, skips and clocks that were wrong (R5, R6, R19, C10, C12, C15)."""

import contextlib

import pytest

from chats.models import WorkerHost
from core.errors import Refusal
from schedules import clock as clock_module
from schedules.clock import Clock
from schedules.models import Run, Schedule
from schedules.services import firing
from schedules.services.editing import schedule_edit, schedule_pause, schedule_skip_next
from schedules.services.reconcile import count_windows, marks_put_back
from tests.support.engine import DAY, HOUR, NOW, SECOND, due_schedule, fire, ledger

pytestmark = pytest.mark.django_db
ONCE_TOMORROW = {"kind": "once", "at": "2026-06-02T08:00"}


class TestWrongClock:
    """C15: set wrong for a while and put right again leaves the true next occurrence."""

    def test_a_once_of_tomorrow_survives_two_days_ahead(self, alice):
        schedule = due_schedule(alice, at=NOW + DAY, cadence=ONCE_TOMORROW, planned_through=NOW)
        fire(NOW + 2 * DAY)
        assert ledger(schedule) == [("missed", "misfire", NOW + DAY)]
        while marks_put_back(now=NOW + HOUR):
            pass
        assert ledger(schedule) == []
        stored = Schedule.objects.get()
        assert (stored.completed_at, stored.next_run_at) == (None, NOW + DAY)

    def test_a_mark_ahead_is_put_back_also_by_a_clock_that_was_started_after_the_wrong_time(self, alice, monkeypatch):
        """A mark later than now is put back to now: the worker that lived through the jump may be gone."""
        monkeypatch.setattr(clock_module, "hint_drain", lambda: True)
        WorkerHost.objects.create(name="host", hostname="host", started_at=NOW)
        due_schedule(alice, at=NOW + 2 * DAY + HOUR, planned_through=NOW + 2 * DAY)
        ticking = Clock(host="host")
        for second in range(3):
            ticking.tick(NOW + second * SECOND)
        assert Schedule.objects.get().next_run_at == NOW + HOUR


class TestSkipNext:
    def test_one_that_was_left_out_and_has_no_row_yet_is_not_forgotten_for_the_next(self, alice):
        """`skip-next` marks one occurrence: it keeps its row when the time comes, however late the clock is."""
        schedule = due_schedule(alice, skip_next_at=NOW, next_occurrence_at=NOW + HOUR)
        late = NOW + 5 * SECOND  # the worker was away for a moment
        with contextlib.suppress(Refusal):
            schedule_skip_next(schedule=schedule, scheduled_for=NOW + HOUR, now=late)
        fire(late)
        assert ledger(schedule)[0] == ("skipped", "skip_next", NOW)


class TestOff:
    @pytest.mark.parametrize("act", ["pause", "edit"])
    def test_it_is_switched_off_also_when_its_zone_is_not_known_any_more(self, alice, act):
        """R19: whatever; under a stop, or until the next tick, such a schedule stays due."""
        schedule = due_schedule(alice, zone="Nowhere/Zone")
        now = NOW + SECOND
        if act == "pause":
            schedule_pause(schedule=schedule, now=now)
        else:
            schedule_edit(schedule=schedule, body={"enabled": False}, now=now)
        assert Schedule.objects.get().enabled is False

    def test_an_unknown_zone_can_be_mended_while_it_is_due(self, alice):
        schedule = due_schedule(alice, zone="Nowhere/Zone")
        schedule_edit(schedule=schedule, body={"zone": "Europe/Berlin"}, now=NOW + SECOND)
        assert Schedule.objects.get().zone == "Europe/Berlin"

    def test_a_once_is_completed_by_the_row_that_a_pause_gives_it(self, alice):
        """`once`: completed as soon as its occurrence has a row, whatever the row says."""
        schedule = due_schedule(alice, cadence={"kind": "once", "at": "2026-06-01T08:00"})
        schedule_pause(schedule=schedule, now=NOW + SECOND)
        assert ledger(schedule) == [("cancelled", "paused", NOW)]
        assert Schedule.objects.get().completed_at == NOW + SECOND


class TestLongWindows:
    FIVE = {"kind": "cron", "expression": "*/5 * * * *"}

    def test_it_is_counted_by_the_rule_under_which_it_was_missed(self, alice):
        """R5: an edit that comes before the count changes nothing of what has passed."""
        due_schedule(alice, at=NOW - 7 * DAY, cadence=self.FIVE, min_gap_seconds=300)
        fire(NOW)
        covered = Run.objects.exclude(missed_until=None).get()
        assert covered.missed_count is None
        schedule_edit(
            schedule=Schedule.objects.get(), body={"cadence": {"kind": "daily", "time": "09:00"}}, now=NOW + SECOND
        )
        count_windows()
        assert Run.objects.get(pk=covered.pk).missed_count == 7 * 288


def test_one_that_is_given_up_names_true_occurrences_only(alice, monkeypatch):
    """R5, R21: the one that was left out keeps its row, and no row stands at an instant that is no occurrence."""
    schedule = due_schedule(alice, skip_next_at=NOW, next_occurrence_at=NOW + HOUR)

    def broken(**arguments):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(firing, "plan_schedule", broken)
    now = NOW
    while not Schedule.objects.get().blocked_reason:
        fire(now)
        now += 5 * SECOND
        assert now < NOW + HOUR
    assert [row[2] for row in ledger(schedule)] == [NOW]
