"""When a cadence is due: one function for the preview, the firing and the ledger (C1 to C7)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from zoneinfo import ZoneInfo

from core import walltime
from core.walltime import Occurrence
from schedules.domain.cadence_kinds import Cadence, Interval, Once, Recurrence
from schedules.domain.cadence_zone import zone_of
from schedules.domain.occurrences_nominal import goes_by_clock, nominals

__all__ = ["Occurrence", "next_occurrence", "occurrence_stream", "occurrences"]


def next_occurrence(cadence: Cadence, zone: str, after: datetime, until: datetime | None = None) -> Occurrence | None:
    """Return the first occurrence strictly after `after`, or None.

    Bounded: nothing beyond eight years ahead (`once` excepted). `until` is the inclusive end of the schedule. Raises
    CadenceError `zone_unknown` (C7).
    """
    found = next(occurrence_stream(cadence, zone, after), None)
    return found if found and (until is None or found.at <= until) else None


def occurrences(
    cadence: Cadence, zone: str, after: datetime, until: datetime | None = None, limit: int = 100
) -> list[Occurrence]:
    """Return up to `limit` occurrences strictly after `after`, up to and including `until`.

    Raises CadenceError `zone_unknown`.
    """
    found: list[Occurrence] = []
    for occurrence in islice(occurrence_stream(cadence, zone, after), limit):
        if until is not None and occurrence.at > until:
            break
        found.append(occurrence)
    return found


def occurrence_stream(cadence: Cadence, zone: str, after: datetime) -> Iterator[Occurrence]:
    """Yield the occurrences strictly after `after`, in order, up to eight years ahead.

    Raises CadenceError `zone_unknown`.
    """
    tz = zone_of(zone)
    if isinstance(cadence, Once):
        return _once(cadence, tz, after)
    if isinstance(cadence, Interval):
        if cadence.anchor is None:
            raise ValueError("an interval without its anchor has no occurrences yet")
        return walltime.grid_occurrences(cadence.anchor, cadence.period, tz, after)
    if isinstance(cadence, Recurrence):
        return walltime.rule_occurrences(cadence.rule, zone, after)
    if goes_by_clock(cadence):
        return walltime.wall_occurrences(partial(nominals, cadence), tz, after)
    return walltime.shown_occurrences(partial(nominals, cadence), zone, after)


def _once(cadence: Once, tz: ZoneInfo, after: datetime) -> Iterator[Occurrence]:
    if cadence.instant is not None:
        at, shifted = cadence.instant, False
    else:
        assert cadence.local is not None
        at, shifted = walltime.place(cadence.local, tz)
    if at > after:
        yield Occurrence(at, walltime.show(at, tz), shifted)
