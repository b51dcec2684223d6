"""When a cadence is due: order, ends, horizon, and what the result may depend on."""

import os
import random
import time
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.walltime import HORIZON
from schedules.domain.cadence import CadenceError, stored_cadence, zone_of
from schedules.domain.occurrences import next_occurrence, occurrences
from tests.schedules.domain.cadences import CADENCES, NOW, ZONES, at, cron, read, upcoming, wire

INSTANTS = st.integers(0, 4 * 366 * 1440).map(
    lambda minutes: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
)


@settings(max_examples=250, deadline=None)
@given(sent=CADENCES, zone=st.sampled_from(ZONES), after=INSTANTS)
def test_occurrences_strictly_increase_and_the_next_one_is_the_first_of_the_list(sent, zone, after):
    """C4, C5: walking from one to the next gives the list; each local time is what the clock shows."""
    cadence = read_or_skip(sent)
    found = occurrences(cadence, zone, after, limit=12)
    assert all(one.at < other.at for one, other in pairwise(found))
    assert all(after < one.at <= after + HORIZON for one in found)
    step = after
    for one in found:
        assert next_occurrence(cadence, zone, step) == one
        step = one.at
    for one in found:
        shown = one.at.astimezone(zone_of(zone)).replace(tzinfo=None)
        assert (one.local, one.local.fold) == (shown, shown.fold)


@settings(max_examples=60, deadline=None)
@given(sent=CADENCES, zone=st.sampled_from(ZONES), after=INSTANTS, seconds=st.integers(1, 400_000))
def test_looking_from_between_two_occurrences_finds_the_second(sent, zone, after, seconds):
    """C5: the result comes from the rule, not from the place one looks from."""
    cadence = read_or_skip(sent)
    found = occurrences(cadence, zone, after, limit=5)
    later = after + timedelta(seconds=seconds)
    if found:
        again = occurrences(cadence, zone, later, until=found[-1].at)
        assert again == [one for one in found if one.at > later]


@settings(max_examples=40, deadline=None)
@given(sent=CADENCES, zone=st.sampled_from(ZONES), after=INSTANTS, server=st.sampled_from(ZONES))
def test_the_servers_zone_and_the_offset_of_after_play_no_part(sent, zone, after, server):
    """C6: the result depends only on (cadence, zone, after)."""
    cadence = read_or_skip(sent)
    expected = occurrences(cadence, zone, after, limit=4)
    before = os.environ.get("TZ")
    try:
        os.environ["TZ"] = server
        time.tzset()
        assert occurrences(read_or_skip(sent), zone, after, limit=4) == expected
        moved = after.astimezone(timezone(timedelta(hours=-7, minutes=-30)))
        assert occurrences(cadence, zone, moved, limit=4) == expected
    finally:
        os.environ.pop("TZ", None) if before is None else os.environ.update(TZ=before)
        time.tzset()


def read_or_skip(sent):
    try:
        return stored_cadence(sent)
    except CadenceError as told:
        # A random cron may name a day that no month of it has.
        assert told.code == "cadence_never_fires"
        return stored_cadence({"kind": "daily", "time": "02:30"})


def test_c1_the_wall_clock_is_stored_and_the_zone_decides():
    cadence = read({"kind": "daily", "time": "09:00"})
    assert upcoming(cadence, "America/New_York", "2026-06-05T00:00:00Z", 1) == ["2026-06-05T13:00:00Z"]
    assert upcoming(cadence, "Asia/Tokyo", "2026-06-05T00:00:00Z", 1) == ["2026-06-06T00:00:00Z"]


def test_c1_a_once_with_an_offset_stays_that_instant_in_any_zone():
    """wire.md: also the second of a repeated hour."""
    second = {"kind": "once", "at": "2026-11-01T01:30:00-05:00"}
    for zone in ("America/New_York", "Asia/Tokyo"):
        assert upcoming(second, zone, "2026-06-05T00:00:00Z") == ["2026-11-01T06:30:00Z"]
    local = {"kind": "once", "at": "2026-11-01T01:30"}
    assert upcoming(local, "America/New_York", "2026-06-05T00:00:00Z") == ["2026-11-01T05:30:00Z"]


def test_c2_a_lost_once_moves_and_says_so():
    cadence = read({"kind": "once", "at": "2027-03-28T02:30"}, "Europe/Berlin")
    found = next_occurrence(cadence, "Europe/Berlin", at("2026-06-05T00:00:00Z"))
    assert (wire(found.at), found.local, found.shifted) == ("2027-03-28T01:00:00Z", datetime(2027, 3, 28, 3), True)


@pytest.mark.parametrize(
    ("expression", "hours"),
    [
        ("0 * * * *", [0, 1, 2]),  # both of the repeated hour
        ("30 2 * * *", [0]),  # the first only
        ("*/30 2 * * *", [0, 0, 1, 1]),
    ],
)
def test_c3_stars_follow_real_time_in_autumn(expression, hours):
    found = occurrences(cron(expression), "Europe/Berlin", at("2026-10-24T23:59:00Z"), at("2026-10-25T02:00:00Z"))
    assert [one.at.hour for one in found] == hours


def test_c3_a_star_in_the_minutes_does_not_run_in_an_hour_that_is_lost():
    """C3: `*/15 2 * * *` not at all on the day that lacks 02:00; a fixed minute is moved."""
    day = at("2026-03-28T12:00:00Z"), at("2026-03-29T12:00:00Z")
    assert occurrences(cron("*/15 2 * * *"), "Europe/Berlin", *day) == []
    assert [wire(o.at) for o in occurrences(cron("15 2 * * *"), "Europe/Berlin", *day)] == ["2026-03-29T01:00:00Z"]


def test_c4_several_lost_times_are_one_occurrence():
    day = at("2026-03-28T12:00:00Z"), at("2026-03-29T12:00:00Z")
    (found,) = occurrences(cron("0,15,30,45 2 * * *"), "Europe/Berlin", *day)
    assert (wire(found.at), found.shifted) == ("2026-03-29T01:00:00Z", True)


def test_c4_a_lost_time_and_the_one_it_moves_to_are_one_occurrence():
    day = at("2026-03-28T12:00:00Z"), at("2026-03-29T12:00:00Z")
    assert len(occurrences(cron("0 2,3 * * *"), "Europe/Berlin", *day)) == 1


def test_c5_a_fortnight_does_not_drift_over_a_year():
    cadence = read({"kind": "weekly", "days": ["mon", "thu"], "time": "09:00", "every": 2, "anchor": "2026-01-01"})
    found = occurrences(cadence, "UTC", at("2026-01-01T00:00:00Z"), limit=60)
    weeks = {(one.local.date() - datetime(2025, 12, 29).date()).days // 7 for one in found}
    assert all(week % 2 == 0 for week in weeks)


@pytest.mark.parametrize("day", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize(
    ("sent", "days"),
    [
        ({"kind": "daily", "time": "09:00", "every": 3, "anchor": "2026-06-03"}, ["06-03", "06-06", "06-09", "06-12"]),
        (
            {"kind": "weekly", "days": ["wed"], "time": "09:00", "every": 3, "anchor": "2026-06-03"},
            ["06-03", "06-24", "07-15", "08-05"],
        ),
        (
            {"kind": "rrule", "dtstart": "2026-06-03T09:00", "rule": "FREQ=DAILY;INTERVAL=3"},
            ["06-03", "06-06", "06-09", "06-12"],
        ),
    ],
)
def test_c5_a_step_counts_from_its_anchor_wherever_one_looks_from(sent, days, day):
    found = upcoming(stored_cadence(sent), "UTC", f"2026-06-{day:02}T12:00:00Z", 1)
    assert found[0][5:10] == next(text for text in days if text > f"06-{day:02}")


def test_c5_an_interval_keeps_its_grid_however_late_one_looks():
    cadence = read({"kind": "interval", "every": 7, "unit": "minutes", "anchor": "2020-01-01T00:00:00Z"})
    chance = random.Random(7)
    for _ in range(50):
        after = at("2026-06-05T00:00:00Z") + timedelta(seconds=chance.randrange(10**7))
        (found,) = occurrences(cadence, "UTC", after, limit=1)
        assert (found.at - at("2020-01-01T00:00:00Z")) % timedelta(minutes=7) == timedelta(0)
        assert found.at - after <= timedelta(minutes=7)


def test_a_week_that_begins_before_the_anchor_counts_from_it():
    """wire.md: nothing lies before the anchor, weeks begin on Monday."""
    cadence = read({"kind": "weekly", "days": ["mon", "sun"], "time": "09:00", "every": 2, "anchor": "2026-06-10"})
    found = upcoming(cadence, "UTC", "2026-06-01T00:00:00Z", 4)
    assert [text[:10] for text in found] == ["2026-06-14", "2026-06-22", "2026-06-28", "2026-07-06"]


def test_the_end_is_inclusive():
    """cadence.md: `until` is an instant, inclusive."""
    cadence, end = read({"kind": "daily", "time": "09:00"}), at("2026-06-07T09:00:00Z")
    assert occurrences(cadence, "UTC", at("2026-06-05T12:00:00Z"), end)[-1].at == end
    assert next_occurrence(cadence, "UTC", at("2026-06-06T12:00:00Z"), end).at == end
    assert next_occurrence(cadence, "UTC", end, end) is None


def test_after_is_exclusive_to_the_microsecond():
    cadence, due = read({"kind": "daily", "time": "09:00"}), at("2026-06-07T09:00:00Z")
    assert next_occurrence(cadence, "UTC", due - timedelta(microseconds=1)).at == due
    assert next_occurrence(cadence, "UTC", due).at == due + timedelta(days=1)


@pytest.mark.parametrize(("clock", "found"), [("12:00", 1), ("12:01", 0)])
def test_the_horizon_is_kept_to_the_minute(clock, found):
    last = (NOW + HORIZON).date().isoformat()
    far = stored_cadence({"kind": "daily", "time": clock, "every": 2, "anchor": last})
    assert len(occurrences(far, "UTC", NOW)) == found


def test_nothing_beyond_eight_years_is_looked_for_but_a_once_is():
    far = stored_cadence({"kind": "daily", "time": "09:00", "every": 2, "anchor": "2050-01-01"})
    assert next_occurrence(far, "UTC", at("2026-06-05T12:00:00Z")) is None
    assert upcoming({"kind": "once", "at": "2050-01-01T09:00"}, "UTC", "2026-06-05T12:00:00Z") == [
        "2050-01-01T09:00:00Z"
    ]


def test_a_rare_leap_day_across_a_century_is_found():
    """2100 is no leap year: eight years from one 29 February to the next."""
    assert upcoming(cron("0 9 29 2 *"), "UTC", "2096-02-29T12:00:00Z") == ["2104-02-29T09:00:00Z"]


@pytest.mark.parametrize("moment", [datetime.min, datetime(1850, 1, 1), datetime(9999, 12, 31, 23, 59), datetime.max])
def test_any_instant_may_be_looked_from(moment):
    """A preview may name any `after`."""
    for sent in ({"kind": "hourly", "minute": 5}, {"kind": "monthly", "day": 31, "time": "09:00"}):
        for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
            occurrences(stored_cadence(sent), zone, moment.replace(tzinfo=UTC), limit=2)
    once = stored_cadence({"kind": "once", "at": "2026-07-01T09:00"})
    assert len(occurrences(once, "UTC", moment.replace(tzinfo=UTC))) == (moment.year < 2026)
