"""Occurrences against a reckoning minute by minute, over clock changes in odd zones.

The reckoning asks `zoneinfo` what the clock shows in each minute of four days and knows nothing of offsets or rules.
"""

from datetime import UTC, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise

import pytest
from cronsim import CronSim

from schedules.domain.cadence import stored_cadence
from schedules.domain.floor import min_gap_seconds
from schedules.domain.occurrences import occurrences
from tests.schedules.domain.cadences import CHANGES, by_the_clock, cron, in_real_time, minutes_of, placings

DAYS = 4
# Enough room before the window for times that a change moves into it.
MARGIN = timedelta(days=1)

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@lru_cache(maxsize=64)
def minutes(zone, day):
    begin = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=DAYS // 2)
    return minutes_of(zone, begin, DAYS)


@lru_cache(maxsize=64)
def placed(zone, day):
    return placings(minutes(zone, day))


def found(cadence, zone, day):
    span = minutes(zone, day)
    after, until = span[0][0] + MARGIN, span[-1][0] - MARGIN
    return [one.at for one in occurrences(cadence, zone, after, until, limit=100_000)]


def within(instants, zone, day):
    span = minutes(zone, day)
    return [instant for instant in instants if span[0][0] + MARGIN < instant <= span[-1][0] - MARGIN]


# The times of day that matter at a change, and one odd minute.
TIMES = ["00:00", "00:30", "01:15", "01:30", "02:00", "02:10", "02:45", "03:00", "23:30", "12:07"]


@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_daily_times_are_placed_as_the_minutes_say(zone, day):
    """C2, C3, B20: lost times move to the first minute that exists, repeated ones run at the first."""
    for clock in TIMES:
        meant = time.fromisoformat(clock)
        expected = by_the_clock(placed(zone, day), lambda nominal, meant=meant: nominal.time() == meant)
        assert found(stored_cadence({"kind": "daily", "time": clock}), zone, day) == within(expected, zone, day), clock


@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_weekdays_are_those_that_the_clock_shows(zone, day):
    """C2: a time moved over midnight belongs to the day it was meant for."""
    for number, name in enumerate(WEEKDAYS):
        cadence = stored_cadence({"kind": "weekly", "days": [name], "time": "00:15"})
        expected = by_the_clock(
            placed(zone, day), lambda at, number=number: at.weekday() == number and (at.hour, at.minute) == (0, 15)
        )
        assert found(cadence, zone, day) == within(expected, zone, day)


@pytest.mark.parametrize(
    "expression", ["0,30 0-3 * * *", "15 1,2 * * 0,6", "59 23 * * *", "0-20 2 * * *", "45 0-23 * * *"]
)
@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_fixed_cron_is_placed_as_the_minutes_say(zone, day, expression):
    """C2, C3, C4."""
    span = minutes(zone, day)
    named = set()
    for nominal in CronSim(expression, span[0][1] - timedelta(minutes=1)):
        if nominal > span[-1][1] + timedelta(days=1):
            break
        named.add(nominal)
    expected = by_the_clock(placed(zone, day), named.__contains__)
    assert found(cron(expression), zone, day) == within(expected, zone, day)


@pytest.mark.parametrize(
    "expression", ["* * * * *", "*/20 * * * *", "*/15 2 * * *", "*/10 0,1 * * 0", "0 */2 * * *", "30 * * * *"]
)
@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_starred_cron_runs_in_every_minute_that_shows_its_time(zone, day, expression):
    """C3, second sentence; also where the clock changes at midnight, by half an hour, by two hours or by a day."""
    span = minutes(zone, day)
    begin, end = min(shown for _, shown in span), max(shown for _, shown in span)
    named = set()
    for nominal in CronSim(expression, begin - timedelta(minutes=1)):
        if nominal > end:
            break
        named.add(nominal)
    expected = in_real_time(span, named.__contains__)
    assert found(cron(expression), zone, day) == within(expected, zone, day)


@pytest.mark.parametrize("minute", [0, 15, 30, 50])
@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_hourly_runs_whenever_the_clock_shows_its_minute(zone, day, minute):
    """B05, B18: both of a repeated hour, none moved out of a lost one."""
    expected = in_real_time(minutes(zone, day), lambda shown: shown.minute == minute)
    assert found(stored_cadence({"kind": "hourly", "minute": minute}), zone, day) == within(expected, zone, day)


@pytest.mark.parametrize("expression", ["*/20 * * * *", "0 */4 * * *", "*/15 2 * * *", "30 */2 * * *", "*/60 12 * * *"])
@pytest.mark.parametrize(
    "zone", ["Europe/London", "Australia/Lord_Howe", "Antarctica/Troll", "UTC", "Africa/Casablanca"]
)
def test_the_smallest_gap_in_real_time_is_that_of_every_pair(zone, expression):
    """Minimum interval: a cron that follows real time is measured in real time, over all of 400 days."""
    after = datetime(2026, 1, 1, 12, tzinfo=UTC)
    every = [one.at for one in occurrences(cron(expression), zone, after, after + timedelta(days=400), limit=10**6)]
    smallest = min((other - one).total_seconds() for one, other in pairwise(every))
    assert min_gap_seconds(cron(expression), zone, after) == smallest
