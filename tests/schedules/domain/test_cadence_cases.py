"""The worked examples of `tests/cases/cadence.json`, each with exactly its values."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from schedules.domain.cadence import CadenceError, parse_cadence, stored_cadence, to_wire
from schedules.domain.floor import check_floor
from schedules.domain.occurrences import next_occurrence
from tests.schedules.domain.cadences import at, wire

CASES = json.loads((Path(__file__).parents[2] / "cases" / "cadence.json").read_text())
NOW = datetime(2026, 6, 5, 12, tzinfo=UTC)


def rows(name):
    return [pytest.param(row, id=row["id"]) for row in CASES[name]]


@pytest.mark.parametrize("row", rows("occurrences"))
def test_the_next_occurrences_are_exactly_these(row):
    """C1 to C7; null means that nothing comes any more."""
    cadence = parse_cadence(row["cadence"], zone=row["zone"], now=at(row["after"]))
    after = at(row["after"])
    for expected in row["expect"]:
        found = next_occurrence(cadence, row["zone"], after)
        assert (found and wire(found.at)) == expected
        after = found.at if found else after


@pytest.mark.parametrize("row", rows("occurrences"))
def test_every_example_is_echoed_as_it_was_sent(row):
    cadence = parse_cadence(row["cadence"], zone=row["zone"], now=at(row["after"]))
    assert to_wire(cadence) == row["cadence"]
    assert stored_cadence(json.loads(json.dumps(to_wire(cadence)))) == cadence


@pytest.mark.parametrize("row", rows("refused"))
def test_what_is_refused_is_refused_at_its_field(row):
    zone = row.get("zone", "UTC")
    with pytest.raises(CadenceError) as told:
        cadence = parse_cadence(row["cadence"], zone=zone, now=NOW)
        check_floor(cadence, zone, NOW, row.get("min_interval_minutes", 60) * 60)
    assert (told.value.code, told.value.field) == (row["code"], row["field"])


@pytest.mark.parametrize("row", rows("accepted"))
def test_what_is_accepted_is_accepted(row):
    cadence = parse_cadence(row["cadence"], zone=row["zone"], now=NOW)
    assert check_floor(cadence, row["zone"], NOW, row["min_interval_minutes"] * 60) >= row["min_interval_minutes"] * 60


def test_an_alias_is_stored_and_shown_expanded():
    """The note beside `alias-daily`."""
    cadence = parse_cadence({"kind": "cron", "expression": "@daily"}, zone="UTC", now=NOW)
    assert to_wire(cadence) == {"kind": "cron", "expression": "0 0 * * *"}


def test_a_shifted_example_says_so():
    """C2: the note beside `daily-lost-hour`: 8 March is shifted to 03:00 local."""
    cadence = stored_cadence({"kind": "daily", "time": "02:30"})
    found = next_occurrence(cadence, "America/New_York", at("2026-03-07T12:00:00Z"))
    assert found is not None
    assert (found.shifted, found.local) == (True, datetime(2026, 3, 8, 3, 0))
