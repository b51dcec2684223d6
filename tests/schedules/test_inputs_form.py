"""The dialog's form and the wire body: there and back, with what was typed kept where it cannot be read."""

from __future__ import annotations

import pytest

from core.errors import Refusal
from schedules.inputs import body_to_form, field_of_path, form_to_body
from schedules.services.editing import schedule_create
from tests.schedules.forms import posted


def cadence_of(**form):
    return form_to_body(posted(form))["cadence"]


LEFTOVERS = {
    "at_date": "2026-06-02", "at_time": "10:00", "minute": "5", "time": "09:00", "days": ["mon", "wed"], "every": "1",
    "anchor": "2026-06-01", "monthly_by": "day", "day": "31", "nth": "2", "weekday": "tue", "month": "2",
    "year_day": "29", "interval_every": "90", "interval_unit": "minutes", "expression": "0 8 * * 1",
    "dtstart": "2026-05-01T07:30", "rule": "FREQ=DAILY;COUNT=3",
}  # fmt: skip


@pytest.mark.parametrize(
    ("chosen", "cadence"),
    [
        ({"kind": "once"}, {"kind": "once", "at": "2026-06-02T10:00"}),
        ({"kind": "once", "at_time": "10:00:30"}, {"kind": "once", "at": "2026-06-02T10:00:30"}),
        ({"kind": "hourly"}, {"kind": "hourly", "minute": 5}),
        ({"kind": "daily"}, {"kind": "daily", "time": "09:00"}),
        (
            {"kind": "daily", "every": "3"},
            {"kind": "daily", "time": "09:00", "every": 3, "anchor": "2026-06-01"},
        ),
        ({"kind": "daily", "every": "3", "anchor": ""}, {"kind": "daily", "time": "09:00", "every": 3}),
        ({"kind": "weekdays"}, {"kind": "weekdays", "time": "09:00"}),
        ({"kind": "weekly"}, {"kind": "weekly", "days": ["mon", "wed"], "time": "09:00"}),
        (
            {"kind": "weekly", "every": "2"},
            {"kind": "weekly", "days": ["mon", "wed"], "time": "09:00", "every": 2, "anchor": "2026-06-01"},
        ),
        ({"kind": "monthly"}, {"kind": "monthly", "day": 31, "time": "09:00"}),
        ({"kind": "monthly", "day": "last"}, {"kind": "monthly", "day": "last", "time": "09:00"}),
        (
            {"kind": "monthly", "monthly_by": "weekday"},
            {"kind": "monthly", "nth": 2, "weekday": "tue", "time": "09:00"},
        ),
        ({"kind": "yearly"}, {"kind": "yearly", "month": 2, "day": 29, "time": "09:00"}),
        ({"kind": "interval"}, {"kind": "interval", "every": 90, "unit": "minutes"}),
        ({"kind": "cron"}, {"kind": "cron", "expression": "0 8 * * 1"}),
        ({"kind": "rrule"}, {"kind": "rrule", "dtstart": "2026-05-01T07:30", "rule": "FREQ=DAILY;COUNT=3"}),
    ],
)
def test_only_the_fields_of_the_chosen_kind_are_sent(chosen, cadence):
    """B36: what another frequency left in the form goes nowhere."""
    assert cadence_of(**{**LEFTOVERS, **chosen}) == cadence


@pytest.mark.parametrize(
    ("form", "cadence"),
    [
        ({"kind": "hourly", "minute": "abc"}, {"kind": "hourly", "minute": "abc"}),
        ({"kind": "daily", "time": "9 o'clock"}, {"kind": "daily", "time": "9 o'clock"}),
        ({"kind": "daily", "time": "09:00", "every": "2.5"}, {"kind": "daily", "time": "09:00", "every": "2.5"}),
        ({"kind": "monthly", "day": "end", "time": "09:00"}, {"kind": "monthly", "day": "end", "time": "09:00"}),
        ({"kind": "once", "at_date": "tomorrow", "at_time": ""}, {"kind": "once", "at": "tomorrow"}),
        ({"kind": "sometimes"}, {"kind": "sometimes"}),
        ({}, {"kind": ""}),
    ],
)
def test_what_cannot_be_read_is_passed_on_as_typed(form, cadence):
    assert cadence_of(**form) == cadence


def test_a_time_is_stored_and_shown_as_it_was_typed(created):
    """B37."""
    schedule = created(cadence=cadence_of(kind="daily", time="10:31", every="1"))
    assert body_to_form(schedule)["time"] == "10:31"


@pytest.mark.parametrize(
    ("form", "body"),
    [
        ({"ends": "never", "until_date": "2026-07-01", "max_runs": "3"}, {"until": None, "max_runs": None}),
        ({"ends": "count", "max_runs": "3"}, {"until": None, "max_runs": 3}),
        ({"ends": "count", "max_runs": "few"}, {"until": None, "max_runs": "few"}),
        (
            {"ends": "date", "until_date": "2026-07-01", "until_time": "18:00", "zone": "Europe/Berlin"},
            {"until": "2026-07-01T16:00:00Z", "max_runs": None},
        ),
        (
            {"ends": "date", "until_date": "2026-07-01", "until_time": "", "zone": "UTC"},
            {"until": "2026-07-01T23:59:59Z", "max_runs": None},
        ),
        ({"ends": "date", "until_date": "soon", "until_time": "", "zone": "UTC"}, {"until": "soon", "max_runs": None}),
        (
            {"ends": "date", "until_date": "2026-07-01", "until_time": "18:00", "zone": "Mars/Base"},
            {"until": "2026-07-01 18:00", "max_runs": None},
        ),
    ],
)
def test_the_end_is_what_was_chosen_in_the_schedules_zone(form, body):
    sent = form_to_body(posted(form))
    assert {"until": sent["until"], "max_runs": sent["max_runs"]} == body


@pytest.mark.parametrize(
    ("field", "typed", "name", "sent"),
    [
        ("misfire_grace_minutes", "15", "misfire_grace_seconds", 900),
        ("misfire_grace_minutes", "0", "misfire_grace_seconds", 0),
        ("misfire_grace_minutes", "1.5", "misfire_grace_seconds", 90),
        ("misfire_grace_minutes", "1,5", "misfire_grace_seconds", 90),
        ("misfire_grace_minutes", "a few", "misfire_grace_seconds", "a few"),
        ("misfire_grace_minutes", "NaN", "misfire_grace_seconds", "NaN"),
        ("misfire_grace_minutes", "1E+999999", "misfire_grace_seconds", "1E+999999"),
        ("deadline_minutes", "", "deadline_seconds", None),
        ("deadline_minutes", "10", "deadline_seconds", 600),
        ("retry_window_minutes", "60", "retry_window_seconds", 3600),
        ("project", "", "project", None),
        ("project", "prj_x", "project", "prj_x"),
        ("notify_on", "always", "notify", {"on": "always"}),
    ],
)
def test_minutes_hours_and_choices_become_the_wires_values(field, typed, name, sent):
    assert form_to_body(posted({field: typed}))[name] == sent


def test_a_box_that_is_not_ticked_is_off_and_what_is_not_in_the_form_is_not_sent():
    body = form_to_body(posted({"name": "Morning", "kind": "weekdays", "time": "09:00"}))
    assert body["enabled"] is False
    assert "project" not in body and "until" not in body and "misfire_grace_seconds" not in body


PATHS = [
    ("name", "", "name"),
    ("cadence", "", "kind"),
    ("cadence.kind", "", "kind"),
    ("cadence.at", "once", "at_date"),
    ("cadence.minute", "hourly", "minute"),
    ("cadence.time", "daily", "time"),
    ("cadence.every", "daily", "every"),
    ("cadence.every", "interval", "interval_every"),
    ("cadence.unit", "interval", "interval_unit"),
    ("cadence.anchor", "weekly", "anchor"),
    ("cadence.days", "weekly", "days"),
    ("cadence.day", "monthly", "day"),
    ("cadence.day", "yearly", "year_day"),
    ("cadence.nth", "monthly", "nth"),
    ("cadence.weekday", "monthly", "weekday"),
    ("cadence.month", "yearly", "month"),
    ("cadence.expression", "cron", "expression"),
    ("cadence.dtstart", "rrule", "dtstart"),
    ("cadence.rule", "rrule", "rule"),
    ("until", "", "until_date"),
    ("max_runs", "", "max_runs"),
    ("misfire_grace_seconds", "", "misfire_grace_minutes"),
    ("deadline_seconds", "", "deadline_minutes"),
    ("retry_window_seconds", "", "retry_window_minutes"),
    ("notify.on", "", "notify_on"),
    ("project", "", "project"),
]


@pytest.mark.parametrize(("path", "kind", "field"), PATHS)
def test_every_refusal_has_a_field_of_the_form_to_stand_at(created, path, kind, field):
    assert field_of_path(path, kind) == field
    assert field in body_to_form(created())


def test_what_the_form_sends_as_typed_is_refused_at_the_field_it_was_typed_in(alice, now, body):
    form = {
        "name": "Morning", "prompt": "Hi", "agent": body["agent"], "project": "", "zone": "UTC", "kind": "hourly",
        "minute": "abc", "ends": "count", "max_runs": "few", "misfire_grace_minutes": "long", "enabled": True,
    }  # fmt: skip
    with pytest.raises(Refusal) as caught:
        schedule_create(owner=alice, body=form_to_body(posted(form)), now=now)
    assert {field_of_path(error.path, "hourly") for error in caught.value.fields} == {
        "minute", "max_runs", "misfire_grace_minutes",
    }  # fmt: skip
