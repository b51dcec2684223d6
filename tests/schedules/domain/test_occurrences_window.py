"""Windows of occurrences: counted, cut from the end, and the next one that nothing leaves out."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.domain.occurrences import occurrences
from schedules.domain.occurrences_window import count_occurrences, newest_occurrences, next_to_run
from tests.schedules.domain.cadences import NOW, at, cron, read, wire

EVERY_TEN = read({"kind": "interval", "every": 10, "unit": "minutes", "anchor": "2026-01-01T00:00:00Z"})
DAILY = read({"kind": "daily", "time": "09:00"})


@settings(max_examples=50, deadline=None)
@given(
    cadence=st.sampled_from([EVERY_TEN, DAILY, cron("*/7 2-5 * * *"), cron("30 2 * * 0"), cron("0 9 29 2 *")]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
    hours=st.integers(0, 800),
    keep=st.integers(1, 30),
)
def test_the_newest_and_the_number_are_those_of_the_whole_list(cadence, zone, hours, keep):
    until = NOW + timedelta(hours=hours)
    every = occurrences(cadence, zone, NOW, until, limit=100_000)
    assert newest_occurrences(cadence, zone, NOW, until, keep) == every[-keep:]
    assert count_occurrences(cadence, zone, NOW, until) == len(every)


def test_a_window_of_many_years_is_counted_whole():
    """An absence longer than the eight years that are looked ahead."""
    assert count_occurrences(DAILY, "UTC", datetime(2000, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)) == 9497
    once = read({"kind": "once", "at": "2050-01-01T09:00"})
    assert count_occurrences(once, "UTC", NOW, datetime(2070, 1, 1, tzinfo=UTC)) == 1


def test_dates_left_out_are_not_counted():
    until = NOW + timedelta(days=10)
    assert count_occurrences(DAILY, "UTC", NOW, until, {date(2026, 6, 8), date(2026, 6, 30)}) == 9


def test_the_next_to_run_passes_over_dates_and_the_marked_one():
    """cadence.md: lists and cards show the next occurrence that will run."""
    skip = {date(2026, 6, 6), date(2026, 6, 7)}
    found = next_to_run(DAILY, "UTC", NOW, skip_dates=skip, skip_next=at("2026-06-08T09:00:00Z"))
    assert wire(found.at) == "2026-06-09T09:00:00Z"


def test_a_date_left_out_is_passed_over_at_once_in_its_own_zone():
    """1,440 minutes of a date left out cost one step; the date is that of the zone."""
    found = next_to_run(cron("* * * * *"), "Asia/Tokyo", NOW, skip_dates={date(2026, 6, 5), date(2026, 6, 6)})
    assert (wire(found.at), found.local) == ("2026-06-06T15:00:00Z", datetime(2026, 6, 7))


@pytest.mark.parametrize("until", ["2026-06-06T09:00:00Z", "2026-06-06T00:00:00Z"])
def test_nothing_is_next_when_all_that_is_left_is_left_out(until):
    assert next_to_run(DAILY, "UTC", NOW, skip_dates={date(2026, 6, 6)}, until=at(until)) is None


def test_a_once_that_is_marked_has_no_next():
    once = read({"kind": "once", "at": "2050-01-01T09:00"})
    assert next_to_run(once, "UTC", NOW).at == at("2050-01-01T09:00:00Z")
    assert next_to_run(once, "UTC", NOW, skip_next=at("2050-01-01T09:00:00Z")) is None
    assert next_to_run(once, "UTC", NOW, skip_dates={date(2050, 1, 1)}) is None
