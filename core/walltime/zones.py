"""Zones from the bundled `tzdata` alone, and what a clock change does to a wall-clock time (C2, C3, C6, C7)."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

import tzdata

# The host's zone files differ from machine to machine, and newer distributions leave the old names out.
zoneinfo.reset_tzpath(to=())
zoneinfo.ZoneInfo.clear_cache()

HORIZON = timedelta(days=2923)
"""How far ahead an occurrence is looked for: eight years, and a day for clock changes on another date by then."""

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(9980, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)


class UnknownZone(ValueError):
    """The bundled zone data have no zone of this name."""


class Change(NamedTuple):
    """A clock change: its instant (UTC) and the offsets on either side of it."""

    at: datetime
    before: timedelta
    behind: timedelta


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return every name of the bundled data, old names included (C7); `Factory` stands for no place and is left out."""
    return frozenset(zoneinfo.available_timezones() - {"Factory"})


@lru_cache(maxsize=1024)
def zone(name: str) -> zoneinfo.ZoneInfo:
    """Return the zone of exactly this name. Raises UnknownZone for any other spelling, case or path."""
    if name not in zone_names():
        raise UnknownZone(name)
    try:
        return zoneinfo.ZoneInfo(name)
    except (OSError, ValueError, zoneinfo.ZoneInfoNotFoundError) as error:
        raise UnknownZone(name) from error


def zone_data_version() -> str:
    """Return the version of the bundled zone data, such as `2026a` (C6: when it changes, instants are recomputed)."""
    return str(tzdata.IANA_VERSION)


def show(at: datetime, tz: tzinfo) -> datetime:
    """Return the naive wall-clock time that `tz` shows at `at`; `fold` is 1 in the second pass of a repeated hour."""
    return at.astimezone(tz).replace(tzinfo=None)


def place(local: datetime, tz: tzinfo) -> tuple[datetime, bool]:
    """Return the instant (UTC) of the naive wall-clock time `local`, and whether a clock change moved it.

    C2: a time that does not exist is moved to the first instant that does. C3: of a repeated time the first is meant.
    """
    first = local.replace(tzinfo=tz, fold=0)
    before, behind = first.utcoffset(), first.replace(fold=1).utcoffset()
    assert before is not None and behind is not None
    if before >= behind:
        return (local - before).replace(tzinfo=UTC), False
    return _gap_end((local - behind).replace(tzinfo=UTC), local, behind - before, tz), True


def _offset(at: datetime, tz: tzinfo) -> timedelta:
    return at.astimezone(tz).utcoffset() or timedelta(0)


def _gap_end(low: datetime, local: datetime, gap: timedelta, tz: tzinfo) -> datetime:
    """Return the first instant, at most `gap` after `low`, at which the clock of `tz` is past `local`."""
    return _first(low, int(gap.total_seconds()), lambda at: show(at, tz) > local)


def _first(low: datetime, seconds: int, passed: Callable[[datetime], bool]) -> datetime:
    """Return the first whole second after `low` at which `passed` holds; it holds at `low` + `seconds`."""
    short, far = 0, seconds
    while far - short > 1:
        middle = (short + far) // 2
        short, far = (short, middle) if passed(low + middle * _SECOND) else (middle, far)
    return low + far * _SECOND


@lru_cache(maxsize=4096)
def _changes_of_year(name: str, year: int) -> tuple[Change, ...]:
    """Return the clock changes of `name` after the start of `year` in UTC, up to and including its end.

    Looked for day by day: no zone has ever changed its clock twice within a day.
    """
    tz, found = zone(name), []
    day, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    before = _offset(day, tz)
    while day < end:
        behind = _offset(day + _DAY, tz)
        if behind != before:
            found.append(Change(_first_changed(day, before, tz), before, behind))
        day, before = day + _DAY, behind
    return tuple(found)


def _first_changed(day: datetime, before: timedelta, tz: tzinfo) -> datetime:
    """Return the second within the day after `day` at which the offset is no longer `before`."""
    return _first(day, 86_400, lambda at: _offset(at, tz) != before)


def changes_between(name: str, after: datetime, until: datetime) -> Iterator[Change]:
    """Yield the clock changes of the zone `name` after `after`, up to and including `until`."""
    for year in range(after.astimezone(UTC).year, until.astimezone(UTC).year + 1):
        for change in _changes_of_year(name, year):
            if after < change.at <= until:
                yield change


def stretches(name: str, after: datetime, until: datetime) -> Iterator[tuple[timedelta, datetime, datetime]]:
    """Yield (offset, start, end) pieces that cover `after` to `until`, each with one offset throughout.

    Worked out year by year, so that a caller who finds his answer early pays for no later year.
    """
    start, offset = after, _offset(after, zone(name))
    for year in range(after.year, until.year + 1):
        for change in _changes_of_year(name, year):
            if change.at > start:
                yield offset, start, change.at
                start, offset = change.at, change.behind
        end = datetime(year + 1, 1, 1, tzinfo=UTC)
        if end > start:
            yield offset, start, end
            start = end
