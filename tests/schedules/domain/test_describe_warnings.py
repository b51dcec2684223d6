"""What a person is told before saving: days that differ from what one may think, and clock changes."""

import pytest

from core.errors import CATALOGUE, sentence
from schedules.domain.describe import warnings
from tests.schedules.domain.cadences import NOW, at, cron, read

BERLIN = "Europe/Berlin"


def codes(sent, zone=BERLIN, after=NOW, **given):
    cadence = read(sent, zone, after) if isinstance(sent, dict) else sent
    found = warnings(cadence, zone, after, **given)
    assert {note.code for note in found} <= set(CATALOGUE)
    for note in found:
        assert "{" not in sentence(note.code, note.params)
    return [note.code for note in found]


def rule(text):
    return {"kind": "rrule", "dtstart": "2026-01-31T12:00", "rule": text}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (cron("0 8 20-28 * 1-5"), ["cron_either_day"]),
        (cron("0 8 */2 * 1-5"), []),
        ({"kind": "monthly", "day": 28, "time": "12:00"}, []),
        ({"kind": "monthly", "day": 29, "time": "12:00"}, ["day_in_short_months"]),
        ({"kind": "monthly", "day": "last", "time": "12:00"}, []),
        ({"kind": "yearly", "month": 2, "day": 29, "time": "12:00"}, ["leap_day"]),
        ({"kind": "yearly", "month": 2, "day": 28, "time": "12:00"}, []),
        (cron("0 12 31 * *"), ["short_months_left_out"]),
        (cron("0 12 29 * *"), ["short_months_left_out"]),
        (cron("0 12 31 1,3 *"), []),
        (cron("0 12 29 2 *"), ["leap_years_only"]),
        (rule("FREQ=MONTHLY"), ["short_months_left_out"]),
        (rule("FREQ=MONTHLY;BYMONTHDAY=-1"), []),
        (rule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29"), ["leap_years_only"]),
    ],
)
def test_days_that_differ_from_what_one_may_think_are_said(sent, expected):
    """B26, B41, B42."""
    assert codes(sent) == expected


def test_the_lost_and_the_repeated_time_are_noted_with_their_dates():
    """C2, C3; cadence.md: a note when one of the next 400 days' occurrences is shifted or repeated."""
    repeated, shifted = warnings(read({"kind": "daily", "time": "02:30"}), BERLIN, NOW)
    assert (repeated.code, repeated.at) == ("clock_repeated", at("2026-10-25T00:30:00Z"))
    assert (shifted.code, shifted.at) == ("clock_shifted", at("2027-03-28T01:00:00Z"))
    told = sentence(shifted.code, shifted.params)
    assert told == "Clocks go forward: there is no 02:30 on 28 March 2027; it runs at 03:00."


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"kind": "daily", "time": "03:00"}, []),
        ({"kind": "daily", "time": "01:59"}, []),
        ({"kind": "weekdays", "time": "02:30"}, []),  # both changes are on Sundays
        ({"kind": "weekly", "days": ["sun"], "time": "02:30"}, ["clock_repeated", "clock_shifted"]),
        ({"kind": "yearly", "month": 3, "day": 28, "time": "02:30"}, ["clock_shifted"]),
        ({"kind": "once", "at": "2026-10-25T02:30"}, ["clock_repeated"]),
        ({"kind": "once", "at": "2031-03-30T02:30"}, ["clock_shifted"]),
        ({"kind": "once", "at": "2026-10-25T00:30:00Z"}, []),
        ({"kind": "hourly", "minute": 30}, []),
        ({"kind": "interval", "every": 30, "unit": "minutes"}, []),
        (cron("*/15 * * * *"), []),
        (cron("*/15 2 * * *"), ["clock_runs_twice", "clock_skipped"]),
        (cron("*/15 2 * * 1-5"), []),
        (cron("30 2 * * 0"), ["clock_repeated", "clock_shifted"]),
        ({"kind": "rrule", "dtstart": "2026-01-01T02:30", "rule": "FREQ=DAILY"}, ["clock_repeated", "clock_shifted"]),
    ],
)
def test_a_clock_change_is_noted_only_when_it_concerns_an_occurrence(sent, expected):
    assert codes(sent) == expected


def test_what_lies_beyond_the_end_or_400_days_is_not_noted():
    daily = {"kind": "daily", "time": "02:30"}
    assert codes(daily, until=at("2026-12-01T00:00:00Z")) == ["clock_repeated"]
    leap = {"kind": "yearly", "month": 10, "day": 29, "time": "02:30"}  # the night of the change in 2028
    assert codes(leap) == []


def test_a_zone_without_changes_has_nothing_to_note():
    assert codes({"kind": "daily", "time": "02:30"}, "Asia/Tokyo") == []
