"""What a person should know about a cadence before saving it; codes and sentences are those of the error table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from core.walltime import Change, changes_between, clamped, place, show
from schedules.domain.cadence_cron import cron_fields
from schedules.domain.cadence_kinds import Cadence, Cron, Hourly, Interval, Monthly, Once, Recurrence, Yearly
from schedules.domain.cadence_zone import zone_of
from schedules.domain.describe_words import Style
from schedules.domain.occurrences_nominal import goes_by_clock, nominals

LOOK = timedelta(days=400)
_TICK = timedelta.resolution
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Warning:
    """One note: `code` of the error table and what its sentence names; `at` (UTC) marks the occurrence it concerns."""

    code: str
    params: dict[str, object] = field(default_factory=dict)
    at: datetime | None = None


def warnings(
    cadence: Cadence, zone: str, after: datetime, *, until: datetime | None = None, style: Style | None = None
) -> list[Warning]:
    """Return the notes on a cadence: what its days mean, then what clock changes do to it, in order.

    A clock change is noted only when it concerns an occurrence of the 400 days after `after` (and up to `until`); a
    `once` at any distance. Raises CadenceError `zone_unknown`.
    """
    after = clamped(after)
    found = list(_about_days(cadence))
    for note in _about_clocks(cadence, zone, after, style or Style()):
        if note.at is None or (note.at > after and (until is None or note.at <= until)):
            found.append(note)
    return found


def _about_days(cadence: Cadence) -> Iterator[Warning]:
    if isinstance(cadence, Monthly) and cadence.day in (29, 30, 31):
        yield Warning("day_in_short_months", {"day": cadence.day})
    elif isinstance(cadence, Yearly) and (cadence.month, cadence.day) == (2, 29):
        yield Warning("leap_day")
    elif isinstance(cadence, Cron):
        fields = cron_fields(cadence.expression)
        if fields.either_day:
            yield Warning("cron_either_day")
        elif fields.parts[4] == "*" and fields.parts[2].isdigit():
            yield from _left_out(int(fields.parts[2]), fields.months)
    elif isinstance(cadence, Recurrence) and not cadence.rule.by_day and len(cadence.rule.by_month_day) == 1:
        yield from _left_out(next(iter(cadence.rule.by_month_day)), cadence.rule.by_month)


def _left_out(day: int, months: frozenset[int]) -> Iterator[Warning]:
    """Say which dates a single day of the month leaves out; no months means every one."""
    lengths = {month: 29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31 for month in months or range(1, 13)}
    if day == 29 and set(lengths) == {2}:
        yield Warning("leap_years_only")
    elif day > min(lengths.values()) or (day == 29 and 2 in lengths):
        yield Warning("short_months_left_out", {"day": day})


def _about_clocks(cadence: Cadence, zone_name: str, after: datetime, style: Style) -> Iterator[Warning]:
    tz = zone_of(zone_name)
    if isinstance(cadence, Once):
        if cadence.local is not None:
            around = place(cadence.local, tz)[0]
            for change in changes_between(zone_name, around - _DAY, around + _DAY):
                yield from _by_clock(cadence.local, change, tz, style)
        return
    if isinstance(cadence, (Hourly, Interval)) or (isinstance(cadence, Recurrence) and cadence.rule.is_grid):
        return
    by_clock = goes_by_clock(cadence)
    if not by_clock and isinstance(cadence, Cron) and cron_fields(cadence.expression).parts[1].startswith("*"):
        return
    for change in changes_between(zone_name, after, after + LOOK):
        low, high = _touched(change)
        for nominal in _before(high, nominals(cadence, low - _TICK, high)):
            yield from (_by_clock if by_clock else _in_real_time)(nominal, change, tz, style)
            break


def _before(end: datetime, found: Iterator[datetime]) -> Iterator[datetime]:
    return takewhile(lambda nominal: nominal < end, found)


def _touched(change: Change) -> tuple[datetime, datetime]:
    """Return the wall-clock times, from and before, that the change takes away or brings twice."""
    one, other = ((change.at + offset).replace(tzinfo=None) for offset in (change.before, change.behind))
    return min(one, other), max(one, other)


def _by_clock(nominal: datetime, change: Change, tz: ZoneInfo, style: Style) -> Iterator[Warning]:
    low, high = _touched(change)
    if not low <= nominal < high:
        return
    at, shifted = place(nominal, tz)
    params: dict[str, object] = {"time": style.time(nominal), "date": style.date(nominal)}
    if shifted:
        yield Warning("clock_shifted", params | {"moved": style.time(show(at, tz))}, at)
    else:
        yield Warning("clock_repeated", params, at)


def _in_real_time(nominal: datetime, change: Change, tz: ZoneInfo, style: Style) -> Iterator[Warning]:
    params: dict[str, object] = {"time": style.time(nominal), "date": style.date(nominal)}
    if change.behind > change.before:
        yield Warning("clock_skipped", params)
    else:
        yield Warning("clock_runs_twice", params, (nominal - change.before).replace(tzinfo=UTC))
