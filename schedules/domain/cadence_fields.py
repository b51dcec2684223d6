"""Reading single fields of a cadence from the wire: strict, each refusal says what works."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import TypeVar

from schedules.domain.cadence_errors import CadenceError, invalid
from schedules.domain.cadence_kinds import WEEKDAYS

Wire = Mapping[str, object]
_Day = TypeVar("_Day", bound=date)

FIRST_YEAR, LAST_YEAR = 1900, 9900

_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"(?P<local>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.0{1,6})?"
    r"(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})?"
)


def required(data: Wire, field: str) -> object:
    """Return the value of a field that must be there. Raises CadenceError `required`."""
    if data.get(field) is None:
        raise CadenceError("required", field)
    return data[field]


def whole(data: Wire, field: str, least: int, most: int) -> int:
    """Return a whole number within bounds. Raises CadenceError `required` or `cadence_invalid`."""
    value = required(data, field)
    if type(value) is not int or not least <= value <= most:
        raise invalid(field, f"A whole number from {least} to {most} works here.")
    return value


def one_of(data: Wire, field: str, choices: Sequence[str]) -> str:
    """Return a text that is one of `choices`. Raises CadenceError `required` or `cadence_invalid`."""
    value = required(data, field)
    if not isinstance(value, str) or value not in choices:
        raise invalid(field, f"One of these works here: {', '.join(choices)}.")
    return value


def text(data: Wire, field: str, most: int) -> str:
    """Return a text of at most `most` characters. Raises CadenceError `required`, `too_long`, `cadence_invalid`."""
    value = required(data, field)
    if not isinstance(value, str):
        raise invalid(field, "A text works here.")
    if not value.strip():
        raise CadenceError("required", field)
    if len(value.strip()) > most:
        raise CadenceError("too_long", field, actual=len(value.strip()), most=most)
    return value.strip()


def clock(data: Wire, field: str = "time") -> time:
    """Return a time of day written `09:00`. Raises CadenceError `required` or `cadence_invalid`."""
    value = required(data, field)
    good = _TIME.fullmatch(value) if isinstance(value, str) else None
    if not good:
        raise invalid(field, "A time of day such as 09:00 works here, from 00:00 to 23:59.")
    return time(int(good[1]), int(good[2]))


def day(data: Wire, field: str) -> date | None:
    """Return a date written `2026-06-28`, or None when absent. Raises CadenceError `cadence_invalid`."""
    value = data.get(field)
    if value is None:
        return None
    try:
        if isinstance(value, str) and _DATE.fullmatch(value):
            return _in_years(field, date.fromisoformat(value))
    except ValueError as error:
        if isinstance(error, CadenceError):
            raise
    raise invalid(field, "A date such as 2026-06-28 works here.")


def moment(data: Wire, field: str) -> datetime:
    """Return `2026-04-01T09:00`, seconds allowed, as naive local time; with `Z` or an offset as an instant in UTC.

    Raises CadenceError `required` or `cadence_invalid`.
    """
    value = required(data, field)
    good = _MOMENT.fullmatch(value.strip()) if isinstance(value, str) else None
    try:
        if good:
            found = datetime.fromisoformat(good["local"] + (good["offset"] or ""))
            _in_years(field, found)
            return found.astimezone(UTC) if found.tzinfo else found
    except ValueError as error:
        if isinstance(error, CadenceError):
            raise
    raise invalid(field, "A date and time such as 2026-04-01T09:00 works here, with whole seconds at most.")


def _in_years(field: str, found: _Day) -> _Day:
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise invalid(field, f"A year from {FIRST_YEAR} to {LAST_YEAR} works here.")
    return found


def weekday_list(data: Wire, field: str) -> tuple[int, ...]:
    """Return weekdays as numbers in order (0 is Monday). Raises CadenceError `required` or `cadence_invalid`."""
    value = required(data, field)
    names = value if isinstance(value, (list, tuple)) else []
    if not names or not all(isinstance(name, str) and name in WEEKDAYS for name in names):
        raise invalid(field, f"At least one weekday works here: {', '.join(WEEKDAYS)}.")
    return tuple(sorted({WEEKDAYS.index(name) for name in names}))
