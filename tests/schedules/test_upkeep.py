"""Old rows go, never the newest of a schedule; new zone data moves what the old had computed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.walltime import zone_data_version
from schedules.models import Run, Schedule
from schedules.services.reconcile import reconcile
from schedules.services.upkeep import runs_sweep, zones_refresh
from tests.factories import NOW
from tests.support.engine import MINUTE, due_schedule, fire, ledger

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def old_runs(alice, make_schedule, make_run, now):
    """A schedule with a run a day for three days, the newest shown on its card; all of them over a year old."""
    schedule = make_schedule(owner=alice, now=now - 500 * DAY)
    runs = [make_run(schedule=schedule, scheduled_for=now - (400 + n) * DAY) for n in range(3)]
    Schedule.objects.filter(pk=schedule.pk).update(last_run=runs[0], succeeded_count=3)
    return schedule, runs


def test_old_runs_go_but_the_newest_of_a_schedule_and_the_counters_stay(old_runs, now):
    """`RUN_RETENTION_DAYS` 365."""
    schedule, runs = old_runs
    assert runs_sweep(now=now) == 2
    assert list(Run.objects.all()) == [runs[0]]
    schedule.refresh_from_db()
    assert schedule.succeeded_count == 3


def test_a_sweep_is_bounded_and_takes_the_oldest_first(old_runs, now):
    _, runs = old_runs
    assert runs_sweep(now=now, most=1) == 1
    assert runs[2] not in Run.objects.all()


def test_zero_days_keep_everything(old_runs, now, settings):
    settings.RUN_RETENTION_DAYS = 0
    assert runs_sweep(now=now) == 0


def test_new_zone_data_moves_the_next_occurrence_once(alice, make_schedule, now):
    """C6: from the rule and the mark; a look that finds nothing ends it."""
    schedule = make_schedule(owner=alice, armed=True, cadence={"kind": "daily", "time": "09:00"}, zone="Europe/Berlin")
    right = schedule.next_run_at
    Schedule.objects.update(zone_data="2001a", next_run_at=right + timedelta(hours=1), min_gap_seconds=1)
    assert zones_refresh() == 1
    schedule.refresh_from_db()
    assert (schedule.next_run_at, schedule.next_occurrence_at) == (right, right)
    assert (schedule.zone_data, schedule.min_gap_seconds) == (zone_data_version(), 86_400)
    assert zones_refresh() == 0


def test_a_rule_that_cannot_be_read_is_left_to_the_fire_and_stops_nothing(alice, make_schedule, now):
    broken, _ = (make_schedule(owner=alice, armed=True) for _ in range(2))
    Schedule.objects.update(zone_data="2001a")
    Schedule.objects.filter(pk=broken.pk).update(cadence={"kind": "sometimes"})
    assert zones_refresh() == 2
    assert zones_refresh() == 0
    broken.refresh_from_db()
    assert broken.next_run_at is not None


def test_a_rule_without_a_date_stays_armed_for_the_fire_which_says_why(alice, agent):
    """R5: disarmed, it would be completed at the next look without a row and without a word."""
    never = {"kind": "rrule", "dtstart": "2020-01-01T08:00", "rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}
    schedule = due_schedule(alice, agent=agent, zone_data="older")
    Schedule.objects.filter(pk=schedule.pk).update(cadence=never)
    assert zones_refresh() == 1
    assert zones_refresh() == 0
    reconcile(now=NOW - MINUTE)
    fire()
    schedule.refresh_from_db()
    assert ledger(schedule) == [("refused", "cadence_never_fires", NOW)]
    assert schedule.blocked_reason == "cadence_never_fires"
