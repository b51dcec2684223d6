"""From wall-clock times to instants: moved and merged (C2 to C4), shown in real time, or on a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from core.walltime.zones import EARLIEST, HORIZON, LATEST, place, show, stretches, zone

Nominals = Callable[[datetime, datetime], Iterable[datetime]]
"""(start, stop) -> the naive wall-clock times after `start`, in order; looking past `stop` is not needed."""

_TICK = timedelta.resolution


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One nominal instant: `at` in UTC, `local` as the zone's clock shows it, `shifted` when a clock change moved it.

    `local.fold` is 1 in the second pass of a repeated hour, so that titles can tell the two apart.
    """

    at: datetime
    local: datetime
    shifted: bool = False


def clamped(after: datetime) -> datetime:
    """Return an instant in UTC, moved into the years 1900 to 9980, which can be reckoned with in every zone."""
    if not EARLIEST.year <= after.year < LATEST.year:
        return LATEST if after.year >= LATEST.year else EARLIEST
    return max(after.astimezone(UTC), EARLIEST)


def _span(after: datetime) -> tuple[datetime, datetime]:
    start = clamped(after)
    return start, start + HORIZON


def wall_occurrences(nominals: Nominals, tz: tzinfo, after: datetime) -> Iterator[Occurrence]:
    """Yield the occurrences of wall-clock times after `after`: C2 and C3, several on one instant are one (C4)."""
    last, horizon = _span(after)
    start = show(last, tz)
    # Placing never reverses the order, so nothing at or before the local time of `after` can come later.
    for nominal in nominals(start, start + HORIZON):
        at, shifted = place(nominal, tz)
        if at > horizon:
            return
        if at > last:
            last = at
            yield Occurrence(at, show(at, tz) if shifted else nominal, shifted)


def shown_occurrences(nominals: Nominals, name: str, after: datetime) -> Iterator[Occurrence]:
    """Yield every instant after `after` at which the clock of the zone `name` shows one of `nominals`.

    Real time: a repeated time counts twice, a lost one not at all (C3, second sentence).
    """
    begin, horizon = _span(after)
    tz = zone(name)
    for offset, start, end in stretches(name, begin, horizon):
        low = (start + offset).replace(tzinfo=None) - (_TICK if start > begin else timedelta(0))
        high = (end + offset).replace(tzinfo=None)
        for nominal in nominals(low, high):
            if nominal >= high:
                break
            at = (nominal - offset).replace(tzinfo=UTC)
            if at > horizon:
                return
            yield Occurrence(at, show(at, tz))


def grid_occurrences(
    anchor: datetime, period: timedelta, tz: tzinfo, after: datetime, count: int | None = None
) -> Iterator[Occurrence]:
    """Yield the points `anchor` + n x `period` after `after` in real time; `count` is how many the grid has."""
    begin, horizon = _span(after)
    number = max(0, (begin - anchor) // period + 1)
    at = anchor + number * period
    while at <= horizon and (count is None or number < count):
        yield Occurrence(at, show(at, tz))
        number += 1
        at += period
