"""Reading a cadence: what is filled in, what is kept, what is refused and where."""

import copy
import json
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings

from core.errors import CATALOGUE
from schedules.domain.cadence import CadenceError, Interval, Weekly, stored_cadence, to_wire, zone_of
from schedules.domain.describe import warnings
from schedules.domain.floor import min_gap_seconds
from tests.schedules.domain.cadences import CADENCES, NOW, at, read

WEEKLY = {"kind": "weekly", "days": ["sun"], "time": "09:00"}
TWO_HOURS = {"kind": "interval", "every": 2, "unit": "hours"}

REFUSED = [
    ({}, "required", "kind"),
    ({"kind": None}, "required", "kind"),
    ({"kind": ["daily"]}, "cadence_invalid", "kind"),
    ({"kind": "Daily", "time": "09:00"}, "cadence_invalid", "kind"),
    ({"kind": "daily"}, "required", "time"),
    ({"kind": "daily", "time": None}, "required", "time"),
    ({"kind": "daily", "time": "9:00"}, "cadence_invalid", "time"),
    ({"kind": "daily", "time": "09:00:00"}, "cadence_invalid", "time"),
    ({"kind": "daily", "time": "24:00"}, "cadence_invalid", "time"),
    ({"kind": "daily", "time": "٠٩:٠٠"}, "cadence_invalid", "time"),
    ({"kind": "daily", "time": 900}, "cadence_invalid", "time"),
    ({"kind": "daily", "time": "09:00", "every": 0}, "cadence_invalid", "every"),
    ({"kind": "daily", "time": "09:00", "every": "2"}, "cadence_invalid", "every"),
    ({"kind": "daily", "time": "09:00", "every": True}, "cadence_invalid", "every"),
    ({"kind": "daily", "time": "09:00", "every": 2.0}, "cadence_invalid", "every"),
    ({"kind": "daily", "time": "09:00", "every": 1462}, "cadence_invalid", "every"),
    ({"kind": "daily", "time": "09:00", "every": 2, "anchor": "28.6.2026"}, "cadence_invalid", "anchor"),
    ({"kind": "daily", "time": "09:00", "every": 2, "anchor": "2026-02-30"}, "cadence_invalid", "anchor"),
    ({"kind": "daily", "time": "09:00", "every": 2, "anchor": "0001-01-01"}, "cadence_invalid", "anchor"),
    ({"kind": "daily", "time": "09:00", "every": 2, "anchor": "2099-01-01"}, "cadence_never_fires", "anchor"),
    ({"kind": "daily", "time": "09:00", "tiem": "10:00"}, "unknown_field", "tiem"),
    ({"kind": "daily", "time": "09:00", "zone": "UTC"}, "unknown_field", "zone"),
    ({"kind": "hourly"}, "required", "minute"),
    ({"kind": "hourly", "minute": 60}, "cadence_invalid", "minute"),
    ({"kind": "hourly", "minute": 0, "time": "09:00"}, "cadence_invalid", "time"),
    ({"kind": "weekly", "time": "09:00"}, "required", "days"),
    ({"kind": "weekly", "time": "09:00", "days": "mon"}, "cadence_invalid", "days"),
    ({"kind": "weekly", "time": "09:00", "days": ["mon", "Tue"]}, "cadence_invalid", "days"),
    ({"kind": "weekly", "time": "09:00", "days": [1]}, "cadence_invalid", "days"),
    ({"kind": "monthly", "time": "09:00"}, "required", "day"),
    ({"kind": "monthly", "time": "09:00", "day": 32}, "cadence_invalid", "day"),
    ({"kind": "monthly", "time": "09:00", "day": "first"}, "cadence_invalid", "day"),
    ({"kind": "monthly", "time": "09:00", "nth": 2}, "required", "weekday"),
    ({"kind": "monthly", "time": "09:00", "weekday": "mon"}, "required", "nth"),
    ({"kind": "monthly", "time": "09:00", "nth": 5, "weekday": "mon"}, "cadence_invalid", "nth"),
    ({"kind": "monthly", "time": "09:00", "nth": 2, "weekday": "mon", "day": 3}, "cadence_invalid", "day"),
    ({"kind": "yearly", "time": "09:00", "month": 13, "day": 1}, "cadence_invalid", "month"),
    ({"kind": "yearly", "time": "09:00", "month": 2, "day": 30}, "cadence_invalid", "day"),
    ({"kind": "yearly", "time": "09:00", "month": 4, "day": 31}, "cadence_invalid", "day"),
    ({"kind": "interval", "every": 5}, "required", "unit"),
    ({"kind": "interval", "every": 5, "unit": "days"}, "cadence_invalid", "unit"),
    ({"kind": "interval", "every": 0, "unit": "hours"}, "cadence_invalid", "every"),
    (TWO_HOURS | {"anchor": "2026-06-05T12:00"}, "cadence_invalid", "anchor"),
    (TWO_HOURS | {"anchor": "2026-06-05"}, "cadence_invalid", "anchor"),
    (TWO_HOURS | {"anchor": "2040-06-05T12:00:00Z"}, "cadence_never_fires", "anchor"),
    ({"kind": "once"}, "required", "at"),
    ({"kind": "once", "at": "tomorrow"}, "cadence_invalid", "at"),
    ({"kind": "once", "at": "2026-07-01"}, "cadence_invalid", "at"),
    ({"kind": "once", "at": "2026-07-01T09:00:00.5"}, "cadence_invalid", "at"),
    ({"kind": "once", "at": "2026-13-01T09:00"}, "cadence_invalid", "at"),
    ({"kind": "once", "at": "9999-12-31T23:59"}, "cadence_invalid", "at"),
    ({"kind": "once", "at": "2026-06-05T12:00:00Z"}, "cadence_never_fires", "at"),
    ({"kind": "rrule", "dtstart": "2026-07-01T09:00"}, "required", "rule"),
    ({"kind": "rrule", "rule": "FREQ=DAILY"}, "required", "dtstart"),
    ({"kind": "rrule", "dtstart": "2026-07-01T09:00Z", "rule": "FREQ=DAILY"}, "cadence_invalid", "dtstart"),
    ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "DAILY"}, "cadence_invalid", "rule"),
    ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=SECONDLY"}, "cadence_too_complex", "rule"),
    ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=HOURLY;BYDAY=MO"}, "cadence_too_complex", "rule"),
    ({"kind": "rrule", "dtstart": "2026-05-01T09:00", "rule": "FREQ=DAILY;COUNT=3"}, "cadence_never_fires", "rule"),
    ({"kind": "rrule", "dtstart": "2026-05-01T09:00", "rule": "FREQ=DAILY;UNTIL=20260604"},
     "cadence_never_fires", "rule"),
    ({"kind": "rrule", "dtstart": "2026-05-01T09:00", "rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"},
     "cadence_never_fires", "rule"),
    ({"kind": "rrule", "dtstart": "2040-05-01T09:00", "rule": "FREQ=DAILY"}, "cadence_never_fires", "dtstart"),
    ({"kind": "rrule", "dtstart": "2026-05-01T09:00", "rule": "F" * 5000}, "too_long", "rule"),
    ({"kind": "cron"}, "required", "expression"),
    ({"kind": "cron", "expression": "  "}, "required", "expression"),
    ({"kind": "cron", "expression": 5}, "cadence_invalid", "expression"),
    ({"kind": "cron", "expression": "0 9 * * " + "1," * 200 + "1"}, "too_long", "expression"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "code", "field"), REFUSED)
def test_each_refusal_stands_at_its_field_with_a_code_of_the_table(sent, code, field):
    """wire.md: the field is the last part of the path; B14, B34, B36."""
    with pytest.raises(CadenceError) as told:
        read(sent)
    assert (told.value.code, told.value.field) == (code, field)
    assert code in CATALOGUE


@pytest.mark.parametrize("sent", [None, [], "daily", 5])
def test_what_is_no_object_is_refused(sent):
    with pytest.raises(CadenceError) as told:
        read(sent)
    assert (told.value.code, told.value.field) == ("cadence_invalid", "cadence")


def test_a_field_that_is_null_counts_as_absent():
    """wire.md: absent and null differ only where projects.md says so."""
    assert to_wire(read({"kind": "daily", "time": "09:00", "days": None, "every": None})) == {
        "kind": "daily",
        "time": "09:00",
    }


@pytest.mark.parametrize("name", [None, 5, ["UTC"], "", "utc ", "../UTC", "nowhere"])
def test_an_unknown_zone_is_told_with_its_name(name):
    """C7."""
    with pytest.raises(CadenceError) as told:
        zone_of(name)
    assert (told.value.code, told.value.field, told.value.params) == ("zone_unknown", "zone", {"zone": str(name)})


def test_the_zone_is_judged_before_the_cadence():
    with pytest.raises(CadenceError) as told:
        read({"kind": "sometimes"}, zone="Nowhere/Zone")
    assert told.value.field == "zone"


def test_an_omitted_anchor_is_the_first_matching_date():
    """wire.md: today while the time is still ahead, else the next day that matches."""
    assert to_wire(read(WEEKLY | {"every": 2}))["anchor"] == "2026-06-07"
    assert to_wire(read({"kind": "daily", "time": "12:01", "every": 3}))["anchor"] == "2026-06-05"
    assert to_wire(read({"kind": "daily", "time": "12:00", "every": 3}))["anchor"] == "2026-06-06"


def test_the_first_matching_date_is_a_date_of_the_zone():
    """C6: 12:00 UTC is already the sixth in Kiritimati."""
    sent = {"kind": "daily", "time": "09:00", "every": 3}
    assert to_wire(read(sent, zone="Pacific/Kiritimati"))["anchor"] == "2026-06-06"


def test_an_omitted_anchor_of_an_interval_is_the_next_whole_minute():
    """wire.md."""
    for now, anchor in [("12:00:00", "12:01:00"), ("12:00:01", "12:01:00"), ("12:59:59", "13:00:00")]:
        found = to_wire(read(TWO_HOURS, now=at(f"2026-06-05T{now}Z")))
        assert found["anchor"] == f"2026-06-05T{anchor}Z"


@pytest.mark.parametrize(
    ("sent", "later", "kept"),
    [
        (WEEKLY | {"every": 2}, WEEKLY | {"every": 2, "days": ["wed"], "time": "10:00"}, True),
        (WEEKLY | {"every": 2}, WEEKLY | {"every": 3}, False),
        (WEEKLY | {"every": 2}, {"kind": "daily", "time": "09:00", "every": 2}, False),
        (TWO_HOURS, TWO_HOURS, True),
        (TWO_HOURS, TWO_HOURS | {"unit": "minutes"}, False),
    ],
)
def test_an_anchor_is_kept_by_a_later_cadence_of_the_same_kind_and_step(sent, later, kept):
    """B39: the phase is fixed by the anchor, never by a save."""
    first = read(sent)
    second = read(later, now=datetime(2026, 7, 1, 12, 30, tzinfo=UTC), previous=first)
    assert (second.anchor == first.anchor) is kept


def test_a_given_anchor_wins_over_the_kept_one():
    first = read(WEEKLY | {"every": 2})
    assert read(WEEKLY | {"every": 2, "anchor": "2026-06-14"}, previous=first).anchor == date(2026, 6, 14)


def test_nothing_lies_before_the_anchor():
    """wire.md: also with a step of one, where the anchor is a first date."""
    later = read({"kind": "daily", "time": "09:00", "anchor": "2026-07-01"})
    assert to_wire(later)["anchor"] == "2026-07-01"


def test_weekdays_are_kept_once_and_in_order():
    assert to_wire(read(WEEKLY | {"days": ["sun", "mon", "sun"]}))["days"] == ["mon", "sun"]


@pytest.mark.parametrize(
    ("name", "expanded"),
    [
        ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 1 *"), ("@monthly", "0 0 1 * *"), ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@hourly", "0 * * * *"), (" @Daily ", "0 0 * * *"),
    ],
)  # fmt: skip
def test_cron_names_are_stored_written_out(name, expanded):
    assert to_wire(read({"kind": "cron", "expression": name})) == {"kind": "cron", "expression": expanded}


@pytest.mark.parametrize(
    "sent",
    ["2026-07-01T09:00", "2026-07-01T09:00:30", "2026-07-01T09:00Z", "2026-07-01T09:00:00+02:00",
     "2026-07-01T09:00:00.000Z"],
)  # fmt: skip
def test_a_moment_is_echoed_as_it_was_sent(sent):
    """B17, wire.md."""
    once = {"kind": "once", "at": sent}
    assert to_wire(read(once)) == once
    assert stored_cadence(once) == read(once)


def test_an_unchanged_cadence_may_lie_in_the_past():
    """B24: opening and saving the form of what has run changes nothing and is not refused."""
    once = stored_cadence({"kind": "once", "at": "2020-01-01T09:00"})
    assert read(to_wire(once), previous=once) == once
    with pytest.raises(CadenceError):
        read({"kind": "once", "at": "2020-01-01T09:01"}, previous=once)


def test_what_is_stored_is_read_whatever_the_time_is():
    assert stored_cadence({"kind": "once", "at": "2020-01-01T09:00"}).kind == "once"
    rule = {"kind": "rrule", "dtstart": "2020-05-01T09:00", "rule": "FREQ=DAILY;COUNT=3"}
    assert to_wire(stored_cadence(rule)) == rule


@pytest.mark.parametrize(
    "row",
    [
        {}, None, [], "x", {"kind": "daily"}, {"kind": "daily", "time": {"at": 9}}, {"kind": {}},
        WEEKLY | {"every": 2}, TWO_HOURS, {"kind": "weekly", "days": [["mon"]], "time": "09:00"},
        {"kind": "cron", "expression": "0 0 31 2 *"}, {"kind": "cron", "expression": "@daily "* 90},
    ],
)  # fmt: skip
def test_a_damaged_row_is_a_refusal_and_nothing_else(row):
    """Gate row 7: data that cannot be read block the schedule, they do not break the tick."""
    with pytest.raises(CadenceError):
        stored_cadence(row)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "1850-01-01T00:00:00Z"])
def test_any_instant_may_stand_for_now(moment):
    """wire.md, preview: `after` stands for now in all of its refusals, and never breaks one."""
    for sent in (WEEKLY | {"every": 2}, TWO_HOURS, {"kind": "cron", "expression": "*/20 * * * *"}):
        cadence = read(sent, "Pacific/Kiritimati", at(moment))
        assert min_gap_seconds(cadence, "Pacific/Kiritimati", at(moment))
        assert isinstance(warnings(cadence, "Pacific/Kiritimati", at(moment)), list)


def test_cadences_are_values():
    one, other = (read(WEEKLY | {"every": 2, "anchor": "2026-06-28"}) for _ in range(2))
    assert one == other
    assert len({one, other}) == 1
    assert isinstance(one, Weekly)
    assert one.kind == "weekly"
    assert isinstance(read(TWO_HOURS), Interval)


@settings(max_examples=200, deadline=None)
@given(sent=CADENCES)
def test_what_is_stored_reads_back_as_the_same_cadence(sent):
    """B24, B36: nothing is lost, added or reordered by storing."""
    before = copy.deepcopy(sent)
    cadence = stored_cadence(sent)
    row = json.loads(json.dumps(to_wire(cadence)))
    assert sent == before
    assert stored_cadence(row) == cadence
    assert to_wire(stored_cadence(row)) == row
    assert read(row, now=NOW, previous=cadence) == cadence
