"""Editing a schedule: only what was sent changes, the next occurrence moves only when the rule does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from schedules import lifecycle
from schedules.models import Run, Schedule
from schedules.outputs import schedule_out
from schedules.selectors.lists import schedule_row
from tests.schedules.conftest import columns
from tests.schedules.edits import AFTER_DUE, LATER, edit, fields_of, refused


def test_an_edit_of_one_field_leaves_all_others_as_they_were(created):
    schedule = created(until="2026-12-31T00:00:00Z", skip_dates=["2026-06-05"])
    before = columns(schedule)
    edit(schedule, name="Evening")
    assert columns(schedule) == {**before, "name": "Evening", "revision": 2, "updated_at": LATER}


WRITABLE = [
    "name", "prompt", "cadence", "zone", "until", "max_runs", "skip_dates", "enabled", "target", "overlap_policy",
    "misfire_policy", "misfire_grace_seconds", "approval_ttl_seconds", "hold_on_approval", "deadline_seconds",
    "retry_window_seconds", "goal", "monthly_budget", "retention", "notify",
]  # fmt: skip


def test_sending_back_what_was_read_changes_nothing(created):
    """B24, B50: no revision, no instant, not one column."""
    schedule = created(cadence={"kind": "weekly", "days": ["sun"], "time": "09:00", "every": 2, "anchor": "2026-06-28"})
    read = schedule_out(schedule_row(schedule))
    before = columns(schedule)
    same = {name: read[name] for name in WRITABLE} | {"agent": read["agent"]["id"], "project": None}
    for hours in (1, 2):
        edit(schedule, LATER + timedelta(hours=hours), if_match=1, **same)
    assert columns(schedule) == before


def test_an_edit_with_another_revision_is_refused_with_the_current_one(created):
    schedule = created()
    edit(schedule, name="Evening")
    refusal = refused(schedule, if_match=1, name="Night")
    assert (refusal.code, refusal.status, refusal.params) == ("schedule_changed", 409, {"revision": 2})


def test_a_stale_copy_of_the_row_does_not_undo_what_was_changed_meanwhile(created):
    schedule = created()
    stale = Schedule.objects.get(pk=schedule.pk)
    edit(schedule, cadence={"kind": "daily", "time": "10:00"})
    edit(stale, cadence={"kind": "daily", "time": "09:00"})
    assert columns(schedule)["cadence"] == {"kind": "daily", "time": "09:00"}


def test_a_deleted_schedule_cannot_be_edited(created):
    schedule = created()
    lifecycle.mark_deleting(schedule, now=LATER)
    assert refused(schedule, name="Evening").code == "not_found"


def test_every_refused_field_is_named_and_nothing_is_written(created):
    refusal = refused(
        created(), name="", cadence={"kind": "daily", "time": "9"}, zone="Mars/Base", agent="agt_x", color=1
    )
    assert sorted(fields_of(refusal)) == [
        ("agent", "agent_not_found"),
        ("cadence.time", "cadence_invalid"),
        ("color", "unknown_field"),
        ("name", "required"),
        ("zone", "zone_unknown"),
    ]


# The next occurrence


def test_an_edit_that_leaves_the_times_alone_keeps_an_occurrence_due(created):
    """C13."""
    schedule = created()
    edit(schedule, AFTER_DUE, name="Evening", prompt="Say good evening.", overlap_policy="allow")
    stored = columns(schedule)
    assert stored["next_run_at"] == datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert stored["planned_through"] == datetime(2026, 6, 1, 8, tzinfo=UTC)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "change",
    [{"cadence": {"kind": "daily", "time": "07:00"}}, {"zone": "Asia/Tokyo"}, {"until": "2026-07-01T00:00:00Z"}],
)
def test_what_was_due_gets_its_row_before_the_rule_changes(created, change):
    """C12: cancelled within the grace, and nothing of the past is opened later."""
    schedule = created()
    edit(schedule, AFTER_DUE, **change)
    row = Run.objects.get()
    assert (row.status, row.reason, row.scheduled_for) == ("cancelled", "edited", datetime(2026, 6, 1, 9, tzinfo=UTC))
    stored = columns(schedule)
    assert stored["planned_through"] == AFTER_DUE
    assert stored["next_run_at"] > AFTER_DUE


def test_moving_a_daily_time_into_the_past_of_today_runs_nothing_today(created):
    """B58."""
    schedule = created(at=datetime(2026, 6, 1, 9, 30, tzinfo=UTC))
    edited = edit(schedule, datetime(2026, 6, 1, 10, tzinfo=UTC), cadence={"kind": "daily", "time": "08:00"})
    assert edited.next_run_at == datetime(2026, 6, 2, 8, tzinfo=UTC)


def test_a_change_of_zone_moves_the_occurrence_once(created):
    """B12."""
    now = datetime(2026, 5, 18, 8, tzinfo=UTC)
    schedule = created(at=now, zone="Australia/Sydney", cadence={"kind": "weekly", "days": ["tue"], "time": "21:00"})
    assert schedule.next_run_at == datetime(2026, 5, 19, 11, tzinfo=UTC)
    edited = edit(schedule, now + timedelta(hours=1), zone="Europe/Berlin")
    assert edited.next_run_at == datetime(2026, 5, 19, 19, tzinfo=UTC)


def test_an_instant_with_an_offset_stays_an_instant_when_the_zone_changes(created):
    """C1, B17."""
    schedule = created(zone="America/Chicago", cadence={"kind": "once", "at": "2026-06-11T16:00:00Z"})
    edited = edit(schedule, zone="Asia/Tokyo")
    assert edited.next_run_at == datetime(2026, 6, 11, 16, tzinfo=UTC)
    assert edited.cadence["at"] == "2026-06-11T16:00:00Z"


def test_a_zone_that_puts_a_single_date_into_the_past_is_refused_at_the_zone(created):
    schedule = created(cadence={"kind": "once", "at": "2026-06-01T09:00"})
    assert fields_of(refused(schedule, zone="Asia/Tokyo")) == [("zone", "cadence_never_fires")]


def test_a_cadence_is_replaced_whole(created):
    """B36."""
    schedule = created(cadence={"kind": "weekly", "days": ["mon", "wed"], "time": "09:00"})
    edit(schedule, cadence={"kind": "daily", "time": "09:00"})
    assert columns(schedule)["cadence"] == {"kind": "daily", "time": "09:00"}
    assert fields_of(refused(schedule, cadence={"kind": "weekly", "time": "09:00"})) == [("cadence.days", "required")]


def test_an_omitted_anchor_is_filled_in_and_kept(created):
    """B39: phase is fixed by the anchor, never by a save."""
    sent = {"kind": "weekly", "days": ["sun"], "time": "09:00", "every": 2}
    schedule = created(cadence=sent)
    anchor = schedule.cadence["anchor"]
    edit(schedule, datetime(2026, 6, 10, tzinfo=UTC), cadence=sent)
    assert columns(schedule)["revision"] == 1
    edit(schedule, datetime(2026, 6, 10, tzinfo=UTC), cadence={**sent, "time": "10:00"})
    assert columns(schedule)["cadence"]["anchor"] == anchor


def test_the_smallest_gap_is_stored_with_every_new_rule(created, limit, alice):
    limit(alice, min_interval_seconds=60)
    schedule = created()
    edit(schedule, cadence={"kind": "interval", "every": 15, "unit": "minutes"})
    assert columns(schedule)["min_gap_seconds"] == 900


def test_a_date_left_out_shows_the_next_one_and_the_clock_still_looks_at_it(created):
    schedule = created()
    edit(schedule, skip_dates=["2026-06-01"])
    stored = columns(schedule)
    assert stored["next_occurrence_at"] == datetime(2026, 6, 2, 9, tzinfo=UTC)
    assert stored["next_run_at"] == datetime(2026, 6, 1, 9, tzinfo=UTC)
