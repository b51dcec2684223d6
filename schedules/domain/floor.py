"""The minimum interval: the smallest gap of a cadence, and its refusal (cadence.md, Minimum interval)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, time, timedelta
from itertools import islice, pairwise

from core.walltime import HORIZON, changes_between, clamped, show
from schedules.domain.cadence_cron import cron_fields
from schedules.domain.cadence_errors import CadenceError
from schedules.domain.cadence_kinds import Cadence, Cron, Daily, Hourly, Interval, Once, Recurrence, Weekly
from schedules.domain.cadence_zone import zone_of
from schedules.domain.occurrences import occurrence_stream
from schedules.domain.occurrences_nominal import nominals

LOOK = timedelta(days=400)
LEAST_LOOKED_AT = 64
_DAY_SECONDS = 86_400
_AROUND = timedelta(hours=25)
_MINUTE = 60


def check_floor(cadence: Cadence, zone: str, after: datetime, floor_seconds: int) -> int | None:
    """Return the smallest gap in seconds, to be stored with the schedule; None when fewer than two lie ahead.

    Raises CadenceError `cadence_below_floor` at the kind's main field, with `actual` and `least` in words and in
    `actual_seconds`, `least_seconds`.
    """
    gap = min_gap_seconds(cadence, zone, after)
    if gap is not None and gap < floor_seconds:
        raise CadenceError(
            "cadence_below_floor",
            _field(cadence),
            actual=duration_words(gap, one="minute"),
            least=duration_words(floor_seconds),
            actual_seconds=gap,
            least_seconds=floor_seconds,
        )
    return gap


def min_gap_seconds(cadence: Cadence, zone: str, after: datetime) -> int | None:
    """Return the smallest gap between two consecutive occurrences of the 400 days after `after`, in whole seconds.

    At least 64 occurrences are looked at, however long that takes up to eight years; None when fewer than two lie
    ahead. By the wall clock; `hourly`, `interval` and grids by definition; a cron in real time is measured so.
    """
    after = clamped(after)
    if isinstance(cadence, Once):
        return None
    if isinstance(cadence, Hourly):
        return 3600
    if isinstance(cadence, Interval):
        return int(cadence.period.total_seconds())
    if isinstance(cadence, Recurrence) and cadence.rule.is_grid:
        two = list(islice(occurrence_stream(cadence, zone, after), 2))
        return cadence.rule.period_seconds if len(two) == 2 else None
    if isinstance(cadence, Cron) and cron_fields(cadence.expression).real_time:
        return _real_gap(cadence, zone, after)
    return _nominal_gap(cadence, zone, after)


def _nominal_gap(cadence: Cadence, zone_name: str, after: datetime) -> int | None:
    start = show(after, zone_of(zone_name))
    return _smallest(nominals(cadence, start, start + HORIZON), start + LOOK, start + HORIZON, _least_possible(cadence))


def _smallest(moments: Iterable[datetime], near: datetime, far: datetime, possible: int) -> int | None:
    """Return the smallest gap up to `near`, looking on to `far` until enough were seen; `possible` ends the search."""
    smallest: int | None = None
    for seen, (one, other) in enumerate(pairwise(moments), start=2):
        if other > far or (other > near and seen > LEAST_LOOKED_AT):
            break
        gap = int((other - one).total_seconds())
        if smallest is None or gap < smallest:
            smallest = gap
            if gap <= possible:
                break
    return smallest


def _least_possible(cadence: Cadence) -> int:
    """Return a gap that no two wall-clock times of the cadence can go below."""
    if isinstance(cadence, Daily):
        return cadence.every * _DAY_SECONDS
    if isinstance(cadence, Cron):
        return _least_of(cron_fields(cadence.expression).times)
    if isinstance(cadence, Recurrence):
        return _least_of(cadence.rule.times)
    return _DAY_SECONDS


def _least_of(times: tuple[time, ...]) -> int:
    seconds = [clock.hour * 3600 + clock.minute * 60 for clock in times]
    return min(b - a for a, b in pairwise([*seconds, seconds[0] + _DAY_SECONDS]))


def _real_gap(cadence: Cron, zone_name: str, after: datetime) -> int | None:
    """Return the smallest gap in real time.

    With several times a day the cron is not walked through: between clock changes real time and wall clock agree,
    and a gap of less than a day across a change lies near it, so the nominal gap and the days around are enough.
    """
    if len(cron_fields(cadence.expression).times) == 1:
        return _smallest(_instants(cadence, zone_name, after), after + LOOK, after + HORIZON, _MINUTE)
    smallest = _nominal_gap(cadence, zone_name, after)
    for change in changes_between(zone_name, after, _looked_until(cadence, zone_name, after)):
        if smallest == _MINUTE:
            break
        begin, end = max(after, change.at - _AROUND), change.at + _AROUND
        gap = _smallest(_instants(cadence, zone_name, begin), end, end, _MINUTE)
        smallest = min((found for found in (smallest, gap) if found is not None), default=None)
    return smallest


def _instants(cadence: Cadence, zone_name: str, after: datetime) -> Iterator[datetime]:
    return (found.at for found in occurrence_stream(cadence, zone_name, after))


def _looked_until(cadence: Cadence, zone_name: str, after: datetime) -> datetime:
    """Return the end of the look: 400 days, or the last of the least number of occurrences when that is later."""
    enough = next(islice(_instants(cadence, zone_name, after), LEAST_LOOKED_AT - 1, None), after + HORIZON)
    return max(after + LOOK, enough)


def _field(cadence: Cadence) -> str:
    """Return the field that mends a gap that is too small."""
    if isinstance(cadence, Weekly):
        return "days" if len(cadence.days) > 1 else "every"
    return cadence.main_field


def duration_words(seconds: int, one: str = "1 minute") -> str:
    """Return a duration such as `90 minutes` or `2 hours`; `one` is what a single minute is called."""
    if seconds < 60:
        return f"{seconds} seconds"
    if seconds < 120:
        return one
    for size, name in ((_DAY_SECONDS, "days"), (3600, "hours")):
        if seconds % size == 0 and seconds >= 2 * size:
            return f"{seconds // size} {name}"
    return f"{seconds // 60} minutes"
