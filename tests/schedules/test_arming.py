"""When a schedule is looked at next, and what becomes of what was due when its rule or switch changes (C12, C13, R6)."""

import pytest

from schedules.models import Run, Schedule
from schedules.services.arming import schedule_arm, schedule_close_due
from tests.support.engine import DAY, HOUR, MINUTE, NOW, SECOND, due_schedule, ledger

pytestmark = pytest.mark.django_db
FIVE = {"kind": "cron", "expression": "*/5 * * * *"}


def test_arming_looks_forward_only(alice, make_schedule):
    """C12: nothing that lay in a pause is made up."""
    schedule = make_schedule(owner=alice, planned_through=NOW - 30 * DAY)
    schedule_arm(schedule, now=NOW)
    stored = Schedule.objects.get()
    assert (stored.planned_through, stored.next_run_at) == (NOW, NOW + HOUR)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("fields", "completed"),
    [({"until": NOW + 59 * MINUTE}, True), ({"until": NOW + HOUR}, False), ({"max_runs": 2, "reached_count": 2}, True)],
)
def test_what_has_nothing_left_is_completed(alice, make_schedule, fields, completed):
    """R6: the end is inclusive."""
    schedule = make_schedule(owner=alice, **fields)
    schedule_arm(schedule, now=NOW)
    stored = Schedule.objects.get()
    assert (stored.completed_at == NOW) is completed
    assert (stored.next_run_at is None) is completed


def test_extending_a_completed_schedule_arms_it_again(alice, make_schedule):
    schedule = make_schedule(owner=alice, completed_at=NOW - DAY, until=None)
    schedule_arm(schedule, now=NOW)
    stored = Schedule.objects.get()
    assert (stored.completed_at, stored.next_run_at) == (None, NOW + HOUR)


@pytest.mark.parametrize("off", [{"enabled": False}, {"blocked_reason": "agent_deleted"}, {"deleting_at": NOW}])
def test_a_schedule_that_is_off_gets_a_mark_but_no_look(alice, make_schedule, off):
    schedule = make_schedule(owner=alice, planned_through=NOW - DAY, **off)
    schedule_arm(schedule, now=NOW)
    stored = Schedule.objects.get()
    assert (stored.planned_through, stored.next_run_at, stored.next_occurrence_at) == (NOW, None, None)


def test_what_is_shown_next_is_what_will_run_while_the_clock_looks_at_what_is_left_out_too(alice, make_schedule):
    schedule = make_schedule(owner=alice, skip_dates=["2026-06-01"], skip_next_at=NOW + DAY + HOUR)
    schedule_arm(schedule, now=NOW)
    stored = Schedule.objects.get()
    assert (stored.next_run_at, stored.next_occurrence_at) == (NOW + HOUR, NOW + 2 * DAY + HOUR)


class TestCloseDue:
    """C12: what was due and unopened gets its row in the transaction of the pause or edit."""

    def test_within_the_grace_each_is_cancelled_and_beyond_it_they_are_one_missed_window(self, alice):
        schedule = due_schedule(
            alice, cadence=FIVE, planned_through=NOW - HOUR, next_run_at=NOW - 55 * MINUTE,
            next_occurrence_at=NOW - 55 * MINUTE,
        )  # fmt: skip
        assert schedule_close_due(schedule, now=NOW + MINUTE, reason="paused") == 4
        assert ledger(schedule) == [
            ("missed", "misfire", NOW - 55 * MINUTE),
            ("cancelled", "paused", NOW - 10 * MINUTE),
            ("cancelled", "paused", NOW - 5 * MINUTE),
            ("cancelled", "paused", NOW),
        ]
        window = Run.objects.get(status="missed")
        assert (window.missed_until, window.missed_count) == (NOW - 15 * MINUTE, 9)
        assert Schedule.objects.get().planned_through == NOW + MINUTE

    def test_exactly_at_the_end_of_the_grace_is_within_it_as_for_a_fire(self, alice):
        schedule = due_schedule(alice)
        schedule_close_due(schedule, now=NOW + 15 * MINUTE)
        assert ledger(schedule) == [("cancelled", "edited", NOW)]

    def test_nothing_due_means_nothing_written(self, alice):
        schedule = due_schedule(alice)
        assert schedule_close_due(schedule, now=NOW - SECOND) == 0
        assert Schedule.objects.get().planned_through == NOW - MINUTE

    def test_a_week_of_grace_leaves_no_occurrence_without_its_row(self, alice):
        """R5."""
        schedule = due_schedule(
            alice, cadence=FIVE, planned_through=NOW - 2 * DAY, next_run_at=NOW - 2 * DAY + 5 * MINUTE,
            misfire_grace_seconds=7 * 86_400,
        )  # fmt: skip
        assert schedule_close_due(schedule, now=NOW) == 2 * 24 * 12

    def test_what_the_owner_left_out_is_said_as_that(self, alice):
        schedule = due_schedule(
            alice, planned_through=NOW - 3 * HOUR - MINUTE, next_run_at=NOW - 3 * HOUR, skip_next_at=NOW - 2 * HOUR,
            misfire_grace_seconds=3600,
        )  # fmt: skip
        schedule_close_due(schedule, now=NOW + MINUTE)
        assert [row[:2] for row in ledger(schedule)] == [
            ("missed", "misfire"), ("skipped", "skip_next"), ("missed", "misfire"), ("cancelled", "edited"),
        ]  # fmt: skip

    def test_an_occurrence_whose_look_failed_and_was_put_off_is_closed_too(self, alice):
        """R5, R21."""
        schedule = due_schedule(alice, next_run_at=NOW + 5 * MINUTE, look_failures=3)
        schedule_close_due(schedule, now=NOW + MINUTE, reason="paused")
        assert ledger(schedule) == [("cancelled", "paused", NOW)]

    def test_an_occurrence_within_its_share_of_the_spread_is_closed_too(self, alice, settings):
        """R5, C8: its instant has passed while the schedule was on."""
        settings.SCHEDULE_SPREAD_SECONDS = 120
        schedule = due_schedule(alice, next_run_at=NOW + 90 * SECOND, public_id="sch_spread")
        from schedules.services.rows import spread_seconds

        Schedule.objects.filter(pk=schedule.pk).update(next_run_at=NOW + spread_seconds(schedule) * SECOND)
        schedule.refresh_from_db()
        assert schedule.next_run_at > NOW
        schedule_close_due(schedule, now=NOW, reason="paused")
        assert ledger(schedule) == [("cancelled", "paused", NOW)]

    def test_nothing_after_the_end_of_the_rule_is_closed(self, alice):
        schedule = due_schedule(alice, until=NOW, misfire_grace_seconds=86_400)
        schedule_close_due(schedule, now=NOW + 3 * HOUR)
        assert ledger(schedule) == [("cancelled", "edited", NOW)]

    def test_a_schedule_that_is_off_has_nothing_to_close(self, alice):
        schedule = due_schedule(alice, enabled=False, next_run_at=None)
        assert schedule_close_due(schedule, now=NOW + DAY) == 0
