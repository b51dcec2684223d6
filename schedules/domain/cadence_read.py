"""From the wire to a cadence, kind by kind: what it says, not yet whether it will ever fire."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping

from core.walltime import RuleError, parse_rule
from core.walltime.rules import LONGEST_TEXT
from schedules.domain import cadence_cron as cron
from schedules.domain import cadence_fields as read
from schedules.domain import cadence_kinds as kinds
from schedules.domain.cadence_errors import CadenceError, invalid
from schedules.domain.cadence_fields import Wire

# Four years: a second occurrence always lies within the eight that are looked at.
MOST_DAYS, MOST_WEEKS, MOST_MINUTES, MOST_HOURS = 1461, 208, 2_103_840, 35_064

FIELDS: dict[str, tuple[str, ...]] = {
    "once": ("at",),
    "hourly": ("minute",),
    "daily": ("time", "every", "anchor"),
    "weekdays": ("time",),
    "weekly": ("days", "time", "every", "anchor"),
    "monthly": ("day", "nth", "weekday", "time"),
    "yearly": ("month", "day", "time"),
    "interval": ("every", "unit", "anchor"),
    "cron": ("expression",),
    "rrule": ("dtstart", "rule"),
}
_KNOWN = {name for fields in FIELDS.values() for name in fields}


def read_cadence(data: object) -> kinds.Cadence:
    """Return the cadence that the wire form says; an omitted anchor stays None.

    Raises CadenceError at the first field that is missing, unknown, not of this kind, or unreadable.
    """
    if not isinstance(data, Mapping):
        raise invalid("cadence", "A cadence is an object such as {“kind”: “daily”, “time”: “09:00”}.")
    kind = read.one_of(data, "kind", tuple(FIELDS))
    for name, value in data.items():
        if name == "kind" or name in FIELDS[kind]:
            continue
        if name not in _KNOWN:
            raise CadenceError("unknown_field", str(name)[:100], name=str(name)[:100])
        if value is not None:
            raise invalid(name, f"The kind {kind} has no {name}; it has {', '.join(FIELDS[kind])}.")
    return _READERS[kind](data)


def _once(data: Wire) -> kinds.Cadence:
    found = read.moment(data, "at")
    sent = str(data["at"]).strip()
    return kinds.Once(sent, instant=found) if found.tzinfo else kinds.Once(sent, local=found)


def _hourly(data: Wire) -> kinds.Cadence:
    return kinds.Hourly(read.whole(data, "minute", 0, 59))


def _every(data: Wire, most: int) -> int:
    return 1 if data.get("every") is None else read.whole(data, "every", 1, most)


def _daily(data: Wire) -> kinds.Cadence:
    return kinds.Daily(read.clock(data), _every(data, MOST_DAYS), read.day(data, "anchor"))


def _weekdays(data: Wire) -> kinds.Cadence:
    return kinds.Weekdays(read.clock(data))


def _weekly(data: Wire) -> kinds.Cadence:
    days = read.weekday_list(data, "days")
    return kinds.Weekly(days, read.clock(data), _every(data, MOST_WEEKS), read.day(data, "anchor"))


def _monthly(data: Wire) -> kinds.Cadence:
    at = read.clock(data)
    if data.get("nth") is None and data.get("weekday") is None:
        return kinds.Monthly(at, day=_day_or_last(data, "day", 31))
    if data.get("day") is not None:
        raise invalid("day", "A day of the month or a weekday with its number works here, not both.")
    nth = _day_or_last(data, "nth", 4)
    weekday = read.one_of(data, "weekday", kinds.WEEKDAYS)
    return kinds.Monthly(at, nth=nth, weekday=kinds.WEEKDAYS.index(weekday))


def _day_or_last(data: Wire, field: str, most: int):
    value = read.required(data, field)
    if value == "last":
        return "last"
    if type(value) is not int or not 1 <= value <= most:
        raise invalid(field, f"A whole number from 1 to {most}, or “last”, works here.")
    return value


def _yearly(data: Wire) -> kinds.Cadence:
    month = read.whole(data, "month", 1, 12)
    # 2000 is a leap year: 29 February is a date, the 30th is none.
    day = read.whole(data, "day", 1, monthrange(2000, month)[1])
    return kinds.Yearly(month, day, read.clock(data))


def _interval(data: Wire) -> kinds.Cadence:
    unit = read.one_of(data, "unit", tuple(kinds.UNIT_SECONDS))
    every = read.whole(data, "every", 1, MOST_HOURS if unit == "hours" else MOST_MINUTES)
    if data.get("anchor") is None:
        return kinds.Interval(every, unit)
    anchor = read.moment(data, "anchor")
    if anchor.tzinfo is None:
        raise invalid("anchor", "An instant with its offset works here, such as 2026-03-28T23:00:00Z.")
    return kinds.Interval(every, unit, anchor)


def _cron(data: Wire) -> kinds.Cadence:
    found = kinds.Cron(cron.expand(read.text(data, "expression", cron.LONGEST)))
    cron.cron_fields(found.expression)
    return found


def _rrule(data: Wire) -> kinds.Cadence:
    dtstart = read.moment(data, "dtstart")
    if dtstart.tzinfo is not None:
        raise invalid("dtstart", "A local date and time without an offset works here, such as 2026-05-01T07:30.")
    text = "".join(read.text(data, "rule", LONGEST_TEXT).split())
    try:
        rule = parse_rule(text, dtstart)
    except RuleError as error:
        raise CadenceError(error.code, "rule", problem=error.problem) from error
    return kinds.Recurrence(str(data["dtstart"]).strip(), text, rule)


_READERS: dict[str, Callable[[Wire], kinds.Cadence]] = {
    "once": _once,
    "hourly": _hourly,
    "daily": _daily,
    "weekdays": _weekdays,
    "weekly": _weekly,
    "monthly": _monthly,
    "yearly": _yearly,
    "interval": _interval,
    "cron": _cron,
    "rrule": _rrule,
}
