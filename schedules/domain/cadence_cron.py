"""Cron text: read by `cronsim`, kept as sets of minutes and hours and a test for days."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import lru_cache

from cronsim import CronSim, CronSimError

from schedules.domain.cadence_errors import CadenceError, invalid

LONGEST = 256
FIELD = "expression"
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = ("minute", "hour", "day of the month", "month", "weekday")
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 - cronsim wants one to begin with; it is not iterated


@dataclass(frozen=True)
class CronFields:
    """A cron expression, taken apart.

    `real_time`: minute or hour begin with `*`, so the instants at which the clock shows them count (C3).
    `either_day`: both day fields are restricted, so either is enough. `parts` are the five fields in capitals,
    `times` the times of each of its days in order.
    """

    parts: tuple[str, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: frozenset[int]
    times: tuple[time, ...]
    real_time: bool
    either_day: bool
    day_fits: Callable[[date], bool]


def expand(expression: str) -> str:
    """Return the expression as it is stored: `@daily` and its like written out, single spaces.

    Raises CadenceError `cadence_invalid` for another number of fields than five, and for `@reboot`.
    """
    found = " ".join(expression.split())
    if found.startswith("@"):
        if found.lower() not in ALIASES:
            raise invalid(FIELD, f"Of the names, these work here: {', '.join(sorted(ALIASES))}.")
        return ALIASES[found.lower()]
    if len(found.split()) != len(_FIELDS):
        raise invalid(FIELD, f"Five fields work here: {', '.join(_FIELDS)}.")
    return found


@lru_cache(maxsize=4096)
def cron_fields(expression: str) -> CronFields:
    """Return the parts of an expanded expression.

    Raises CadenceError: `cadence_invalid` when a field cannot be read, `cadence_never_fires` for a day that no month
    of it has.
    """
    parts = tuple(expression.upper().split())
    sim = _read(expression, parts)
    minutes, hours = tuple(sorted(sim.minutes)), tuple(sorted(sim.hours))
    return CronFields(
        parts=parts,
        minutes=minutes,
        hours=hours,
        months=frozenset(sim.months),
        times=tuple(time(hour, minute) for hour in hours for minute in minutes),
        real_time=parts[0].startswith("*") or parts[1].startswith("*"),
        either_day=not sim.day_and,
        day_fits=sim.match_day,
    )


def _read(expression: str, parts: tuple[str, ...]) -> CronSim:
    if not expression.isascii():
        raise invalid(FIELD, "Digits, names such as MON or JAN, and the signs * , - / L work here.")
    try:
        return CronSim(" ".join(parts), _ANY_TIME)
    except CronSimError as error:
        for position, part in enumerate(parts):
            alone = ["*"] * len(parts)
            alone[position] = part
            if not _reads(" ".join(alone)):
                raise invalid(FIELD, f"The {_FIELDS[position]} “{part}” cannot be read.") from error
        # Every field reads well alone: it is the day that none of the months has.
        raise CadenceError("cadence_never_fires", FIELD) from error


def _reads(expression: str) -> bool:
    try:
        CronSim(expression, _ANY_TIME)
    except CronSimError:
        return False
    return True
