"""A form that is filled in from a schedule and sent back: untouched it is nothing, touched it is what was touched."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.errors import Refusal
from schedules.inputs import body_to_form, form_to_body
from schedules.models import Schedule
from schedules.services.editing import schedule_create, schedule_edit
from tests.schedules.conftest import columns
from tests.schedules.forms import posted

SCHEDULES = [
    {"cadence": {"kind": "once", "at": "2026-06-05T09:00:30"}},
    {"cadence": {"kind": "once", "at": "2026-06-05T09:00:00+02:00"}},
    {"cadence": {"kind": "hourly", "minute": 5}},
    {"cadence": {"kind": "daily", "time": "09:00"}, "zone": "America/Bogota"},
    {"cadence": {"kind": "daily", "time": "09:00", "every": 3}},
    {"cadence": {"kind": "weekdays", "time": "23:59"}},
    {"cadence": {"kind": "weekly", "days": ["sun"], "time": "09:00", "every": 2, "anchor": "2026-06-28"}},
    {"cadence": {"kind": "monthly", "day": "last", "time": "09:00"}},
    {"cadence": {"kind": "monthly", "nth": "last", "weekday": "fri", "time": "09:00"}},
    {"cadence": {"kind": "yearly", "month": 2, "day": 29, "time": "08:00"}},
    {"cadence": {"kind": "interval", "every": 90, "unit": "minutes", "anchor": "2026-06-01T00:00:00Z"}},
    {"cadence": {"kind": "cron", "expression": "0 8 * * 1-5"}, "until": "2026-12-31T23:59:59.5Z"},
    {"cadence": {"kind": "rrule", "dtstart": "2026-05-01T07:30", "rule": "FREQ=DAILY;COUNT=300"}, "max_runs": 7},
    {
        "cadence": {"kind": "daily", "time": "09:00"},
        "prompt": "Two\nlines",
        "until": "2026-12-31T00:00:00Z",
        "max_runs": 9,
        "skip_dates": ["2026-06-05"],
        "misfire_grace_seconds": 100,
        "deadline_seconds": 45,
        "notify": {"on": "never", "channels": []},
        "overlap_policy": "allow",
    },
]


@pytest.mark.parametrize("fields", SCHEDULES, ids=lambda fields: fields["cadence"]["kind"])
def test_saving_an_untouched_form_changes_nothing(created, fields):
    """B24, B39, B50: nothing is even sent."""
    schedule = created(**fields)
    before = columns(schedule)
    body = form_to_body(posted(body_to_form(schedule)), schedule)
    assert body == {}
    schedule_edit(schedule=schedule, body=body, now=datetime(2026, 6, 2, tzinfo=UTC), if_match=1)
    assert columns(schedule) == before


WITHOUT_INTERVAL = [fields for fields in SCHEDULES if fields["cadence"]["kind"] != "interval"]


@pytest.mark.parametrize("fields", WITHOUT_INTERVAL, ids=lambda fields: fields["cadence"]["kind"])
def test_a_form_that_is_filled_in_and_sent_whole_means_the_same(alice, now, created, fields):
    """Duplicate: the copy keeps every choice of the form; only the grid of an interval begins anew."""
    schedule = created(**fields)
    copy = schedule_create(owner=alice, body=form_to_body(posted(body_to_form(schedule))), now=now)[0]
    copy.refresh_from_db()
    assert copy.next_run_at == schedule.next_run_at
    assert (copy.prompt, copy.overlap_policy) == (schedule.prompt, schedule.overlap_policy)


def test_one_touched_field_is_all_that_is_sent(created):
    schedule = created(until="2026-12-31T00:00:00Z", max_runs=9, cadence={"kind": "once", "at": "2026-06-05T09:00:00Z"})
    form = body_to_form(schedule)
    assert form_to_body(posted({**form, "name": "Evening"}), schedule) == {"name": "Evening"}
    assert form_to_body(posted({**form, "until_time": "18:00"}), schedule) == {"until": "2026-12-31T18:00:00Z"}
    assert form_to_body(posted({**form, "enabled": False}), schedule) == {"enabled": False}
    assert form_to_body(posted({**form, "at_time": "10:00"}), schedule) == {
        "cadence": {"kind": "once", "at": "2026-06-05T10:00"}
    }


def test_unticking_every_day_is_a_change_that_is_refused_at_the_days(created, now):
    schedule = created(cadence={"kind": "weekly", "days": ["mon"], "time": "09:00"})
    body = form_to_body(posted({**body_to_form(schedule), "days": []}), schedule)
    assert body == {"cadence": {"kind": "weekly", "days": [], "time": "09:00"}}
    with pytest.raises(Refusal) as caught:
        schedule_edit(schedule=schedule, body=body, now=now)
    assert [error.path for error in caught.value.fields] == ["cadence.days"]


def test_saving_an_untouched_form_does_not_lift_a_block(created):
    """Only resume or an explicit switch lifts it; a box that was ticked all along is none."""
    schedule = created()
    Schedule.objects.filter(pk=schedule.pk).update(blocked_reason="too_many_failures", next_run_at=None)
    schedule.refresh_from_db()
    assert form_to_body(posted(body_to_form(schedule)), schedule) == {}


def test_a_schedule_whose_zone_is_unknown_can_still_be_shown_and_mended(created):
    """C7."""
    schedule = created(until="2026-12-31T00:00:00Z")
    Schedule.objects.filter(pk=schedule.pk).update(zone="Nowhere/Zone")
    schedule.refresh_from_db()
    form = body_to_form(schedule)
    assert form_to_body(posted({**form, "zone": "UTC"}), schedule) == {"zone": "UTC"}
