"""The minimum interval: what the smallest gap is, how far is looked, and the refusal."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import sentence
from schedules.domain import floor
from schedules.domain.cadence import CadenceError
from schedules.domain.cadence_cron import cron_fields
from schedules.domain.floor import check_floor, duration_words, min_gap_seconds
from schedules.domain.occurrences_nominal import nominals
from tests.schedules.domain.cadences import CRON_TEXTS, NOW, cron, read

DAY = 86_400


@pytest.mark.parametrize(
    ("sent", "gap"),
    [
        ({"kind": "once", "at": "2026-07-01T09:00"}, None),
        ({"kind": "hourly", "minute": 5}, 3600),
        ({"kind": "daily", "time": "02:30"}, DAY),
        ({"kind": "daily", "time": "02:30", "every": 3}, 3 * DAY),
        ({"kind": "weekdays", "time": "02:30"}, DAY),
        ({"kind": "weekly", "days": ["mon", "thu"], "time": "09:00"}, 3 * DAY),
        ({"kind": "weekly", "days": ["sun", "mon"], "time": "09:00"}, DAY),
        ({"kind": "weekly", "days": ["sun", "mon"], "time": "09:00", "every": 2}, 6 * DAY),
        ({"kind": "weekly", "days": ["mon"], "time": "09:00", "every": 2}, 14 * DAY),
        ({"kind": "monthly", "day": 31, "time": "09:00"}, 28 * DAY),
        ({"kind": "monthly", "nth": 1, "weekday": "mon", "time": "09:00"}, 28 * DAY),
        ({"kind": "yearly", "month": 3, "day": 1, "time": "09:00"}, 365 * DAY),
        ({"kind": "interval", "every": 90, "unit": "minutes"}, 5400),
        ({"kind": "cron", "expression": "0 9,10 1 * *"}, 3600),
        ({"kind": "cron", "expression": "59 0,23 * * *"}, 3600),
        ({"kind": "cron", "expression": "*/5 * * * *"}, 300),
        ({"kind": "cron", "expression": "5 */1 * * *"}, 3600),
        ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=DAILY;BYHOUR=9,17"}, 8 * 3600),
        ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=DAILY;COUNT=1"}, None),
        ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=MINUTELY;INTERVAL=45;COUNT=2"}, 45 * 60),
        ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=MINUTELY;INTERVAL=45;COUNT=1"}, None),
    ],
)
def test_the_smallest_gap(sent, gap):
    """cadence.md, Minimum interval."""
    assert min_gap_seconds(read(sent, "Europe/Berlin"), "Europe/Berlin", NOW) == gap


def test_the_gap_is_the_nominal_one_on_the_wall_clock():
    """A 23-hour day does not break a floor of 24 hours; a lost time that moves close to the next does not count."""
    for sent in ({"kind": "daily", "time": "02:30"}, {"kind": "cron", "expression": "30 2 * * *"}):
        assert check_floor(read(sent), "Europe/Berlin", NOW, DAY) == DAY
    assert min_gap_seconds(cron("30 2,3 * * *"), "Europe/Berlin", NOW) == 3600


def test_a_cron_in_real_time_is_measured_in_real_time():
    """`0 */4 * * *` has 00:00 and 04:00 three hours apart in spring."""
    assert min_gap_seconds(cron("0 */4 * * *"), "Europe/Berlin", NOW) == 3 * 3600
    assert min_gap_seconds(cron("0 */4 * * *"), "UTC", NOW) == 4 * 3600


@pytest.mark.parametrize(("number", "seen"), [(70, False), (63, False), (62, True), (10, True)])
def test_the_look_is_400_days_once_there_are_64_occurrences(number, seen):
    """A pair an hour apart after 401 days is part of the look only while it is among the first 64."""
    begin = datetime(2026, 1, 1, 9)
    moments = [begin + timedelta(days=day) for day in range(number)]
    moments += [begin + timedelta(days=401), begin + timedelta(days=401, hours=1)]
    found = floor._smallest(moments, begin + floor.LOOK, begin + timedelta(days=2922), possible=0)
    assert found == (3600 if seen else DAY)


def test_at_least_64_occurrences_are_looked_at():
    """Two days a year, next to each other only in leap years: found although 2028 lies beyond 400 days."""
    assert min_gap_seconds(cron("0 9 1,29 2-3 *"), "UTC", NOW) == DAY


@settings(max_examples=60, deadline=None)
@given(expression=CRON_TEXTS, days=st.integers(0, 700))
def test_the_gap_of_a_cron_is_that_of_every_pair(expression, days):
    """The shortcuts (a gap that cannot be beaten ends the search) change nothing."""
    try:
        cadence = cron(expression)
    except CadenceError:
        return
    if len(cron_fields(cadence.expression).times) > 100:
        cadence = cron("0,20,30 " + cadence.expression.split(maxsplit=1)[1])
    after = NOW + timedelta(days=days)
    if cron_fields(cadence.expression).real_time:
        zone = "UTC"
    else:
        zone = "Europe/Berlin"
    start = after.replace(tzinfo=None)
    every = list(nominals(cadence, start, start + timedelta(days=400)))
    gaps = [(other - one).total_seconds() for one, other in pairwise(every)]
    found = min_gap_seconds(cadence, zone, after)
    if len(every) > floor.LEAST_LOOKED_AT:
        assert found == min(gaps)
    elif gaps:
        assert found <= min(gaps)


@pytest.mark.parametrize(
    ("sent", "least", "field", "actual"),
    [
        ({"kind": "cron", "expression": "* * * * *"}, 3600, "expression", "minute"),
        ({"kind": "cron", "expression": "*/20 * * * *"}, 3600, "expression", "20 minutes"),
        ({"kind": "interval", "every": 20, "unit": "minutes"}, 3600, "every", "20 minutes"),
        ({"kind": "hourly", "minute": 0}, 7200, "kind", "60 minutes"),
        ({"kind": "daily", "time": "09:00"}, 2 * DAY, "every", "24 hours"),
        ({"kind": "weekly", "days": ["mon", "tue"], "time": "09:00"}, 2 * DAY, "days", "24 hours"),
        ({"kind": "weekly", "days": ["mon"], "time": "09:00"}, 8 * DAY, "every", "7 days"),
        ({"kind": "weekdays", "time": "09:00"}, 2 * DAY, "kind", "24 hours"),
        ({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=MINUTELY"}, 3600, "rule", "minute"),
    ],
)
def test_what_is_below_the_floor_is_refused_at_the_field_that_mends_it(sent, least, field, actual):
    with pytest.raises(CadenceError) as told:
        check_floor(read(sent), "UTC", NOW, least)
    assert (told.value.code, told.value.field) == ("cadence_below_floor", field)
    assert told.value.params["actual"] == actual
    assert told.value.params["least_seconds"] == least


def test_the_sentence_says_both_numbers():
    """Design, Voice: say what works."""
    with pytest.raises(CadenceError) as told:
        check_floor(cron("*/20 * * * *"), "UTC", NOW, 3600)
    assert sentence(told.value.code, told.value.params) == "It runs every 20 minutes; 60 minutes is the least here."


def test_a_gap_that_equals_the_floor_is_kept():
    assert check_floor(cron("0 * * * *"), "UTC", NOW, 3600) == 3600
    assert check_floor(read({"kind": "once", "at": "2026-07-01T09:00"}), "UTC", NOW, 10**9) is None


def test_durations_are_told_in_the_largest_whole_unit():
    seconds = [30, 60, 90 * 60, 3600, 7200, 5400 + 60, DAY, 2 * DAY]
    told = ["30 seconds", "1 minute", "90 minutes", "60 minutes", "2 hours", "91 minutes", "24 hours", "2 days"]
    assert [duration_words(number) for number in seconds] == told


def test_a_dense_cron_is_not_walked_through(monkeypatch):
    """`* * * * *` has 576,000 occurrences in 400 days; few of them are looked at."""
    looked = []
    plain = floor.nominals
    monkeypatch.setattr(floor, "nominals", lambda *args: (looked.append(1) or one for one in plain(*args)))
    assert min_gap_seconds(cron("* * * * *"), "UTC", datetime(2026, 6, 5, tzinfo=UTC)) == 60
    assert len(looked) < 10
