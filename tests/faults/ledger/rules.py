"""Cadences as the model knows them: a test of one minute, tried minute by minute. Nothing here asks the product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

MINUTE = timedelta(minutes=1)
ANCHOR = datetime.fromisoformat("2026-06-01T00:00:00+00:00")
LOOK_AHEAD = timedelta(days=8)


@dataclass(frozen=True, eq=False)
class Rule:
    """`wire` is what the product stores, `hits` says whether a whole minute is an occurrence; none after `last`."""

    name: str
    wire: dict[str, Any]
    zone: str
    hits: Callable[[datetime], bool]
    last: datetime | None = None

    def between(self, after: datetime, upto: datetime) -> Iterator[datetime]:
        """Yield the occurrences after `after` up to and including `upto`."""
        minute = after.replace(second=0, microsecond=0) + MINUTE
        end = upto if self.last is None else min(upto, self.last)
        while minute <= end:
            if self.hits(minute):
                yield minute
            minute += MINUTE

    def next(self, after: datetime) -> datetime | None:
        """Return the first occurrence after `after`, or None when the rule has ended."""
        known = _known.get(self)
        if known is None or not known[0] <= after < known[1]:
            found = next(self.between(after, after + LOOK_AHEAD), None)
            if found is None:
                return None
            known = _known[self] = (after, found)
        return known[1]


_known: WeakKeyDictionary[Rule, tuple[datetime, datetime]] = WeakKeyDictionary()
"""Between which instants nothing was found the last time: minutes are tried once."""


def _local(minute: datetime, zone: str) -> datetime:
    return minute + {"UTC": timedelta(0), "Asia/Kolkata": timedelta(hours=5, minutes=30)}[zone]  # it never changes


def _interval(minutes: int) -> Rule:
    wire = {"kind": "interval", "every": minutes, "unit": "minutes", "anchor": "2026-06-01T00:00:00Z"}
    return Rule(
        f"every {minutes} minutes", wire, "UTC", lambda at: (at - ANCHOR) % timedelta(minutes=minutes) == 0 * MINUTE
    )


def _hourly(minute: int) -> Rule:
    return Rule(f"hourly at :{minute:02}", {"kind": "hourly", "minute": minute}, "UTC", lambda at: at.minute == minute)


def _daily(time: str, zone: str, kind: str = "daily") -> Rule:
    hour, minute = (int(part) for part in time.split(":"))

    def hits(at: datetime) -> bool:
        local = _local(at, zone)
        return (local.hour, local.minute) == (hour, minute) and (kind == "daily" or local.isoweekday() <= 5)

    return Rule(f"{kind} {time} {zone}", {"kind": kind, "time": time}, zone, hits)


def _cron(expression: str, hits: Callable[[datetime], bool]) -> Rule:
    return Rule(f"cron {expression}", {"kind": "cron", "expression": expression}, "UTC", hits)


def _once(now: datetime) -> Rule:
    at = now.replace(second=0, microsecond=0) + 25 * MINUTE
    wire = {"kind": "once", "at": f"{at:%Y-%m-%dT%H:%M:00}"}
    return Rule("once in 25 minutes", wire, "UTC", lambda minute: minute == at, last=at)


def _counted(now: datetime) -> Rule:
    first = now.replace(second=0, microsecond=0) + 7 * MINUTE
    instants = [first + timedelta(hours=number) for number in range(3)]
    wire = {"kind": "rrule", "dtstart": f"{first:%Y-%m-%dT%H:%M:00}", "rule": "FREQ=HOURLY;COUNT=3"}
    return Rule("three times, hourly", wire, "UTC", lambda minute: minute in instants, last=instants[-1])


_FIXED = [
    _interval(10),
    _interval(45),
    _hourly(7),
    _daily("09:15", "UTC"),
    _daily("15:30", "Asia/Kolkata"),
    _daily("08:40", "UTC", "weekdays"),
    _cron("*/20 * * * *", lambda at: at.minute % 20 == 0),
    _cron("5 */3 * * *", lambda at: at.minute == 5 and at.hour % 3 == 0),
]
_BY_NAME: dict[str, Callable[[datetime], Rule]] = {
    **{rule.name: lambda now, rule=rule: rule for rule in _FIXED},  # type: ignore[misc]  # bound per rule
    "once in 25 minutes": _once,
    "three times, hourly": _counted,
}
NAMES = list(_BY_NAME)


def rule_named(name: str, now: datetime) -> Rule:
    """Return the rule of that name; those that end begin at `now`."""
    return _BY_NAME[name](now)
