"""The cadence of a schedule: read from the wire with its anchor filled in, refused when it can never fire.

Everything here depends only on (cadence, zone, now): no clock, no settings, no server zone (C6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from core import walltime
from schedules.domain.cadence_errors import CadenceError
from schedules.domain.cadence_kinds import (
    Cadence,
    Cron,
    Daily,
    Hourly,
    Interval,
    Monthly,
    Once,
    Recurrence,
    Weekdays,
    Weekly,
    Yearly,
)
from schedules.domain.cadence_read import read_cadence
from schedules.domain.cadence_wire import to_wire
from schedules.domain.cadence_zone import zone_of
from schedules.domain.occurrences import next_occurrence

__all__ = [
    "Cadence",
    "CadenceError",
    "Cron",
    "Daily",
    "Hourly",
    "Interval",
    "Monthly",
    "Once",
    "Recurrence",
    "Weekdays",
    "Weekly",
    "Yearly",
    "parse_cadence",
    "stored_cadence",
    "to_wire",
    "zone_of",
]

_MINUTE = timedelta(minutes=1)


def parse_cadence(data: Mapping[str, object], *, zone: str, now: datetime, previous: Cadence | None = None) -> Cadence:
    """Return the cadence that a person or client sent, ready to be stored.

    An omitted anchor is kept from `previous` of the same kind and `every`, else filled in: the first matching date,
    for `interval` the next whole minute. Raises CadenceError at the field that needs a change; `cadence_never_fires`
    when nothing lies after `now` within eight years, unless the cadence is `previous` unchanged.
    """
    zone_of(zone)
    now = walltime.clamped(now)
    cadence = _anchored(read_cadence(data), zone, now, previous)
    if cadence != previous and next_occurrence(cadence, zone, now) is None:
        raise CadenceError("cadence_never_fires", _never_field(cadence, now))
    return cadence


def stored_cadence(data: Mapping[str, object]) -> Cadence:
    """Return the cadence that `to_wire` stored, past or not. Raises CadenceError for a row that is damaged."""
    try:
        key = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in data.items())
        return _stored(key)
    except (AttributeError, TypeError):
        return _complete(read_cadence(data))


@lru_cache(maxsize=8192)
def _stored(key: tuple[tuple[str, object], ...]) -> Cadence:
    return _complete(read_cadence(dict(key)))


def _complete(cadence: Cadence) -> Cadence:
    if _lacks_anchor(cadence):
        raise CadenceError("required", "anchor")
    return cadence


def _lacks_anchor(cadence: Cadence) -> bool:
    counted = isinstance(cadence, Interval) or (isinstance(cadence, (Daily, Weekly)) and cadence.every > 1)
    return counted and getattr(cadence, "anchor", None) is None


def _anchored(cadence: Cadence, zone: str, now: datetime, previous: Cadence | None) -> Cadence:
    if not isinstance(cadence, (Daily, Weekly, Interval)) or not _lacks_anchor(cadence):
        return cadence
    if isinstance(previous, type(cadence)) and _same_step(cadence, previous):
        return replace(cadence, anchor=previous.anchor)  # type: ignore[arg-type]  # the same kind
    if isinstance(cadence, Interval):
        return replace(cadence, anchor=now.replace(second=0, microsecond=0) + _MINUTE)
    # The first date that the cadence would have without a step.
    first = next_occurrence(replace(cadence, every=1), zone, now)
    return replace(cadence, anchor=first.local.date() if first else None)


def _same_step(one: Daily | Weekly | Interval, other: Daily | Weekly | Interval) -> bool:
    return one.every == other.every and getattr(one, "unit", None) == getattr(other, "unit", None)


def _never_field(cadence: Cadence, now: datetime) -> str:
    if isinstance(cadence, (Daily, Weekly, Interval)):
        return "anchor"
    if isinstance(cadence, Recurrence) and cadence.rule.dtstart - now.replace(tzinfo=None) > walltime.HORIZON:
        return "dtstart"
    return cadence.main_field
