"""Zones from the bundled data, and what clock changes do to wall-clock times."""

import os
import subprocess
import sys
import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import islice, pairwise

import pytest

from core import walltime
from core.walltime import Change, UnknownZone, changes_between, grid_occurrences, place, show, zone

ODD_NAMES = ["", "../etc/passwd", "/etc/localtime", "europe/berlin", "EUROPE/BERLIN", "Europe/Berlin ", "Europe",
             "Europe/", "Europe\\Berlin", "Europe/Berlin\x00", "tzdata.zi", "zone.tab", "posixrules", "localtime",
             "Factory", "Nowhere/Zone", "\ud800", "A" * 5000]  # fmt: skip


def test_only_the_bundled_zone_data_are_read():
    """C6, B22: the host's zone files play no part."""
    assert zoneinfo.TZPATH == ()


def test_the_hosts_zone_files_are_ignored_even_when_the_environment_names_them(tmp_path):
    """C6: a PYTHONTZPATH with other data changes nothing."""
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(b"no zone data")
    code = "from core.walltime import zone; import datetime as d;"
    code += "print(d.datetime(2026, 7, 1, tzinfo=zone('Europe/Berlin')).utcoffset())"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONTZPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "2:00:00"


@pytest.mark.parametrize("name", ["Europe/Kiev", "Europe/Kyiv", "US/Pacific", "US/Eastern", "UTC", "Etc/GMT+5"])
def test_old_and_new_names_are_known_and_kept(name):
    """C7, B21, B22."""
    assert zone(name).key == name


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_other_spelling_case_or_path_is_unknown(name):
    """C7."""
    with pytest.raises(UnknownZone):
        zone(name)


def test_the_version_of_the_zone_data_is_told():
    """C6, B23: what the health page shows and what a recomputation is decided by."""
    assert walltime.zone_data_version()[:2] == "20"


def test_a_lost_time_moves_to_the_first_instant_that_exists():
    """C2, B06: 02:30 New York, 8 March 2026."""
    assert place(datetime(2026, 3, 8, 2, 30), zone("America/New_York")) == (datetime(2026, 3, 8, 7, tzinfo=UTC), True)


def test_a_repeated_time_is_the_first_of_the_two():
    """C3, B07."""
    assert place(datetime(2026, 11, 1, 1, 30), zone("America/New_York")) == (
        datetime(2026, 11, 1, 5, 30, tzinfo=UTC),
        False,
    )


@pytest.mark.parametrize(
    ("name", "local", "at"),
    [
        ("Pacific/Apia", datetime(2011, 12, 30, 9), datetime(2011, 12, 30, 10, tzinfo=UTC)),
        ("America/Sao_Paulo", datetime(2018, 11, 4, 0, 15), datetime(2018, 11, 4, 3, tzinfo=UTC)),
        ("Asia/Beirut", datetime(2026, 3, 29, 0, 0), datetime(2026, 3, 28, 22, tzinfo=UTC)),
        ("Africa/Cairo", datetime(2026, 4, 24, 0, 59), datetime(2026, 4, 23, 22, tzinfo=UTC)),
        ("Australia/Lord_Howe", datetime(2026, 10, 4, 2, 15), datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
        ("Antarctica/Troll", datetime(2026, 3, 29, 2, 10), datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ],
)
def test_gaps_of_any_length_end_at_the_change(name, local, at):
    """C2, B20: a whole day (Apia), midnight, half an hour, two hours."""
    assert place(local, zone(name)) == (at, True)


def test_the_second_pass_of_a_repeated_hour_is_marked_by_fold():
    """C3: titles can tell the two apart."""
    first, second = (show(datetime(2026, 11, 1, hour, 30, tzinfo=UTC), zone("America/New_York")) for hour in (5, 6))
    assert (first, first.fold, second, second.fold) == (
        datetime(2026, 11, 1, 1, 30),
        0,
        datetime(2026, 11, 1, 1, 30),
        1,
    )


def test_the_changes_of_a_zone_are_found_to_the_second():
    hour = timedelta(hours=1)
    found = list(changes_between("Europe/London", datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)))
    assert found == [
        Change(datetime(2026, 3, 29, 1, tzinfo=UTC), 0 * hour, hour),
        Change(datetime(2026, 10, 25, 1, tzinfo=UTC), hour, 0 * hour),
    ]


def test_a_change_at_the_turn_of_a_year_is_found_once():
    """A zone that changed its clock at midnight UTC between two years (Kathmandu, half past six in UTC, 1986)."""
    around = datetime(1985, 12, 1, tzinfo=UTC), datetime(1986, 2, 1, tzinfo=UTC)
    assert [change.at for change in changes_between("Asia/Kathmandu", *around)] == [
        datetime(1985, 12, 31, 18, 30, tzinfo=UTC)
    ]


def test_no_zone_changes_its_clock_twice_within_two_days():
    """What the search by days rests on, checked against every zone of the installed data."""
    instants = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=12 * number) for number in range(2 * 366)]
    # Many names stand for the same data.
    alike = {resources.files("tzdata.zoneinfo").joinpath(name).read_bytes(): name for name in walltime.zone_names()}
    for name in alike.values():
        tz = zone(name)
        seen = [at.astimezone(tz).utcoffset() for at in instants]
        changed = [number for number, (one, other) in enumerate(pairwise(seen)) if one != other]
        assert all(other - one > 4 for one, other in pairwise(changed)), name


def test_a_grid_begins_at_its_anchor_and_ends_with_its_count():
    anchor = datetime(2026, 1, 1, tzinfo=UTC)
    found = grid_occurrences(anchor, timedelta(hours=5), zone("UTC"), anchor - timedelta(days=9), count=3)
    assert [occurrence.at.hour for occurrence in found] == [0, 5, 10]


@pytest.mark.parametrize("after", [datetime.min, datetime.max, datetime(1899, 12, 31), datetime(9987, 1, 1)])
@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Pacific/Pago_Pago", "Europe/Berlin"])
def test_instants_at_the_ends_of_the_calendar_raise_nothing(after, name):
    """A preview may name any instant as its `after`."""
    rule = walltime.parse_rule("FREQ=DAILY", datetime(2026, 1, 1, 9))
    for tz in (UTC, zone(name)):
        found = list(islice(walltime.rule_occurrences(rule, name, after.replace(tzinfo=tz)), 2))
        assert len(found) in (0, 2)
