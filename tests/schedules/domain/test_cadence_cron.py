"""Cron text: what is read, what is refused with which words, and the same days as cronsim's own search."""

from datetime import datetime
from itertools import islice

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.domain.cadence import CadenceError
from schedules.domain.cadence_cron import cron_fields
from schedules.domain.occurrences_nominal import nominals
from tests.schedules.domain.cadences import CRON_TEXTS, cron, read, upcoming


def refused(expression):
    with pytest.raises(CadenceError) as told:
        read({"kind": "cron", "expression": expression})
    assert told.value.field == "expression"
    return told.value


@pytest.mark.parametrize(
    "expression",
    ["* * * * * *", "0 0 9 * * * 2026", "@reboot", "@every 5m", "0 9 * *", "9", "H 9 * * *", "? 9 * * *", "60 * * * *",
     "0 24 * * *", "0 9 0 * *", "0 9 32 * *", "0 9 * 13 *", "0 9 * * 8", "5-1 * * * *", "*/0 * * * *", "0 9 * * MON-",
     "0 9 * * FRI-MON", "1,,2 9 * * *", "0 9 * FOO *", "٠ 9 * * *", "0 9 * * 1#6", "0 9 L-3 * *", "0 9 15W * *",
     "-1 9 * * *", "0 9 1.5 * *", "0 9 * * ß"],
)  # fmt: skip
def test_what_cannot_be_read_is_invalid_and_says_what_works(expression):
    """cadence.md, cron: six or seven fields and @reboot are refused with a message on the field."""
    told = refused(expression)
    assert told.code == "cadence_invalid"
    assert str(told.params["problem"]).endswith(".")


@pytest.mark.parametrize("expression", ["0 9 32 * *", "0 9 * * 8", "x 9 * * *", "0 9 31,32 2 *"])
def test_the_field_that_cannot_be_read_is_named(expression):
    named = {"0 9 * * 8": "weekday", "x 9 * * *": "minute"}.get(expression, "day of the month")
    assert named in refused(expression).params["problem"]


@pytest.mark.parametrize(
    "expression", ["0 0 31 2 *", "0 0 30 2 *", "0 0 30,31 FEB *", "0 0 31 4,6,9,11 *", "0 0 */31 * 1#5"]
)
def test_what_never_matches_is_refused_as_such(expression):
    """B34; the last one: the first of a month is never its fifth Monday."""
    assert refused(expression).code == "cadence_never_fires"


def test_five_fields_in_any_case_and_spacing_are_read():
    assert read({"kind": "cron", "expression": " 0  9 *\tjan  mon "}).expression == "0 9 * jan mon"


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 0 L * *", ["2026-06-30", "2026-07-31", "2026-08-31"]),
        ("0 0 * * 5L", ["2026-06-26", "2026-07-31", "2026-08-28"]),
        ("0 0 * * MON#2", ["2026-06-08", "2026-07-13", "2026-08-10"]),
        ("0 0 LW * *", ["2026-06-30", "2026-07-31", "2026-08-31"]),
        ("0 0 1-31/10 * *", ["2026-06-11", "2026-06-21", "2026-07-01"]),
    ],
)
def test_names_ranges_steps_and_last_days_work(expression, days):
    assert [text[:10] for text in upcoming(cron(expression), "UTC", "2026-06-05T12:00:00Z")] == days


def test_it_is_known_which_expressions_follow_real_time():
    """C3."""
    assert cron_fields("*/15 2 * * *").real_time
    assert cron_fields("0 * * * *").real_time
    assert not cron_fields("0,30 2-4 * * *").real_time


def test_only_two_restricted_day_fields_mean_either():
    assert cron_fields("0 8 13 * 5").either_day
    assert not cron_fields("0 8 */2 * 5").either_day
    assert not cron_fields("0 8 * * 5").either_day


@settings(max_examples=150, deadline=None)
@given(expression=CRON_TEXTS, start=st.datetimes(datetime(2024, 1, 1), datetime(2027, 1, 1)))
def test_the_wall_clock_times_are_those_of_cronsim(expression, start):
    """The search by days and times of day names the same times as cronsim, second by second."""
    stop = start.replace(year=start.year + 6)
    try:
        cadence = cron(expression)
    except CadenceError as told:
        assert told.code == "cadence_never_fires"
        return
    theirs = [at for at in islice(CronSim(expression, start), 40) if at <= stop]
    mine = [at for at in islice(nominals(cadence, start, stop), 40) if at <= stop]
    assert mine == theirs


def test_a_search_without_a_match_ends_with_its_horizon():
    """cadence.md: within 50 ms; the days of eight years at most are looked at."""
    cadence = cron("0 0 */31 * 1#5")
    assert list(nominals(cadence, datetime(2026, 1, 1), datetime(2034, 1, 1))) == []
