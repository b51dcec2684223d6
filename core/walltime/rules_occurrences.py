"""The occurrences of an RFC 5545 rule, bounded: 50 ms for any answer, nothing beyond eight years ahead."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from core.walltime.occurrences import Occurrence, grid_occurrences, wall_occurrences
from core.walltime.rules import Rule
from core.walltime.rules_days import first_period, period_days
from core.walltime.zones import LATEST, place, zone

COUNTED_YEARS = 50
"""COUNT is followed this long after dtstart; what it has not used up by then it will not in a schedule's life."""


def rule_occurrences(rule: Rule, name: str, after: datetime) -> Iterator[Occurrence]:
    """Yield the occurrences of `rule` in the zone `name` strictly after `after`, up to eight years ahead.

    C2 to C4 hold for wall-clock rules; a grid (HOURLY, MINUTELY) runs in real time from dtstart. COUNT counts from
    dtstart, UNTIL is inclusive, in UTC or local.
    """
    tz = zone(name)
    if rule.is_grid:
        anchor, _ = place(rule.dtstart, tz)
        period = timedelta(seconds=rule.period_seconds)
        found = grid_occurrences(anchor, period, tz, after, rule.count)
    else:
        found = wall_occurrences(lambda start, stop: rule_nominals(rule, start, stop), tz, after)
    until = _until_instant(rule, tz)
    for occurrence in found:
        if until is not None and occurrence.at > until:
            return
        yield occurrence


def _until_instant(rule: Rule, tz: tzinfo) -> datetime | None:
    if rule.until is None or rule.until.tzinfo is not None:
        return rule.until
    # A local end stops wall-clock rules by wall clock; for a grid it is the instant at which the clock shows it.
    return place(rule.until, tz)[0] if rule.is_grid else None


def rule_nominals(rule: Rule, start: datetime, stop: datetime) -> Iterator[datetime]:
    """Yield the wall-clock times of `rule` after `start` up to `stop` (naive); the rule is no grid."""
    end = count_end(rule)
    last = min(stop, end) if end is not None else stop
    if rule.until is not None and rule.until.tzinfo is None:
        last = min(last, rule.until)
    elif rule.until is not None:
        last = min(last, rule.until.replace(tzinfo=None) + timedelta(days=2))
    for nominal in _endless(rule, start, last):
        if nominal > last:
            return
        yield nominal


def _endless(rule: Rule, start: datetime, stop: datetime) -> Iterator[datetime]:
    """Yield wall-clock times after `start`, COUNT and UNTIL apart, in periods that begin up to `stop`."""
    number = first_period(rule, start.date())
    while True:
        begin, days = period_days(rule, number)
        if begin > stop.date():
            return
        times = _Times(rule, days)
        for index in range(max(bisect_right(times, start), bisect_left(times, rule.dtstart)), len(times)):
            yield times[index]
        number += 1


class _Times(Sequence[datetime]):
    """The times of one period in order, chosen by BYSETPOS; worked out one by one, since there may be half a million."""

    def __init__(self, rule: Rule, days: Sequence[date]) -> None:
        self.days, self.times = days, rule.times
        self.positions: Sequence[int] = range(len(days) * len(rule.times))
        if rule.by_position:
            places = {p - 1 if p > 0 else len(self.positions) + p for p in rule.by_position}
            self.positions = sorted(p for p in places if 0 <= p < len(self.positions))

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        day, clock = divmod(self.positions[index], len(self.times))
        return datetime.combine(self.days[day], self.times[clock])


@lru_cache(maxsize=4096)
def count_end(rule: Rule) -> datetime | None:
    """Return the wall-clock time at which COUNT is used up; None without COUNT or when that is out of sight."""
    if rule.count is None:
        return None
    far = rule.dtstart.replace(tzinfo=UTC) + timedelta(days=COUNTED_YEARS * 365.25)
    stop = min(far, LATEST).replace(tzinfo=None)
    number, counted = 0, 0
    while True:
        begin, days = period_days(rule, number)
        if begin > stop.date():
            return None
        times = _Times(rule, days)
        before = bisect_left(times, rule.dtstart) if number == 0 else 0
        if counted + len(times) - before >= rule.count:
            return times[before + rule.count - counted - 1]
        counted += len(times) - before
        number += 1
