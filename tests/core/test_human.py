"""Instants and spans as one person reads them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from core.human import Reader, duration, money, say, setting_span, version

NOW = datetime(2027, 3, 26, 9, 42, tzinfo=UTC)  # Friday, 10:42 in Berlin
ALICE = Reader(NOW, "Europe/Berlin")


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (timedelta(hours=7, minutes=18), "today 18:00"),
        (timedelta(days=1), "tomorrow 10:42"),
        (timedelta(days=-1), "yesterday 10:42"),
        (timedelta(days=3), "Mon 11:42"),
        (timedelta(days=-7), "Fri 19 Mar 10:42"),
        (timedelta(days=300), "20 Jan 2028 10:42"),
    ],
)
def test_a_day_is_called_by_how_near_it_is(ahead: timedelta, said: str):
    assert ALICE.short(NOW + ahead) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "now"),
        (48, "in 48 s"),
        (300, "in 5 min"),
        (299.4, "in 5 min"),
        (7 * 3600 + 1080, "in 7 h"),
        (3900, "in 1 h 5 min"),
        (2 * 86400 + 21 * 3600, "in 2 d 21 h"),
        (-180, "3 min ago"),
    ],
)
def test_how_far_off_an_instant_is_has_at_most_two_units(seconds: float, said: str):
    assert ALICE.away(NOW + timedelta(seconds=seconds)) == said


def test_an_instant_is_said_twice_and_in_full_with_its_zone():
    stamp = ALICE.stamp(NOW + timedelta(hours=7, minutes=18))
    assert stamp.iso == "2027-03-26T17:00:00Z"
    assert stamp.title == "Friday 26 March 2027, 18:00 Europe/Berlin"
    assert stamp.text == "today 18:00"


def test_the_clock_is_the_persons_own():
    bob = Reader(NOW, "America/New_York", clock="12")
    assert bob.short(NOW) == "today 5:42 AM"
    assert bob.place == "New York"


def test_seconds_are_shown_only_where_they_matter():
    at = NOW.replace(second=7)
    assert ALICE.at(at) == "10:42"
    assert ALICE.at(at, exact=True) == "10:42:07"


def test_a_day_of_a_clock_change_is_bounded_by_its_own_midnights():
    """C1: the day the clocks go forward has 23 hours."""
    start, end = Reader(datetime(2027, 3, 28, 12, tzinfo=UTC), "Europe/Berlin").day_bounds()
    assert end - start == timedelta(hours=23)


def test_an_unknown_zone_breaks_no_page():
    """C7"""
    assert Reader(NOW, "Nowhere/Zone").at(NOW) == "09:42"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, ""), (0.3, "under 1 s"), (9, "9 s"), (108, "1 min 48 s"), (2460, "41 min"), (7500, "2 h 5 min")],
)
def test_a_duration_is_short(seconds: float | None, said: str):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(900, "15 minutes"), (60, "1 minute"), (86400, "24 hours"), (172800, "2 days"), (90, "90 seconds")],
)
def test_a_setting_is_said_in_its_largest_whole_unit(seconds: int, said: str):
    assert setting_span(seconds) == said


def test_money_has_the_places_it_needs():
    assert [money(Decimal(amount)) for amount in ("0", "12.5", "0.011", "0.000004")] == [
        "",
        "12.50",
        "0.011",
        "0.000004",
    ]


def test_a_code_is_said_with_its_parameters_and_an_unknown_one_as_it_is():
    assert say("deadline", {"minutes": 10}).startswith("No end within 10 minutes.")
    assert say("never_heard_of") == "never_heard_of"


def test_a_version_changes_with_anything_that_is_shown():
    view = {"name": "Briefing", "stamp": ALICE.stamp(NOW)}
    assert version(view) == version(dict(view))
    assert version(view) != version(view | {"stamp": ALICE.stamp(NOW + timedelta(minutes=1))})
