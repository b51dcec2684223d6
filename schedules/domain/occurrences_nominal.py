"""The wall-clock times that a cadence names, before any zone is asked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta

from core.walltime.rules_occurrences import rule_nominals
from schedules.domain import cadence_kinds as kinds
from schedules.domain import occurrences_days as days
from schedules.domain.cadence_cron import cron_fields

_HOUR = timedelta(hours=1)


def nominals(cadence: kinds.Cadence, start: datetime, stop: datetime) -> Iterator[datetime]:
    """Yield the naive wall-clock times after `start`, in order, at least up to `stop`.

    For every kind that goes by the clock; `once`, `interval` and rules on a grid name instants instead.
    """
    return _BY_KIND[cadence.kind](cadence, start, stop)


def goes_by_clock(cadence: kinds.Cadence) -> bool:
    """Whether the cadence names wall-clock times that C2 and C3 place."""
    if isinstance(cadence, kinds.Cron):
        return not cron_fields(cadence.expression).real_time
    if isinstance(cadence, kinds.Recurrence):
        return not cadence.rule.is_grid
    return not isinstance(cadence, (kinds.Once, kinds.Hourly, kinds.Interval))


def _hourly(cadence: kinds.Hourly, start: datetime, stop: datetime) -> Iterator[datetime]:
    nominal = start.replace(minute=cadence.minute, second=0, microsecond=0, fold=0)
    if nominal <= start:
        nominal += _HOUR
    while nominal <= stop:
        yield nominal
        nominal += _HOUR


def _cron(cadence: kinds.Cron, start: datetime, stop: datetime) -> Iterator[datetime]:
    fields = cron_fields(cadence.expression)
    first = start.date()
    later = fields.times[bisect_right(fields.times, start.time()) :]
    for day in days.cron(fields, first, stop.date()):
        for clock in later if day == first else fields.times:
            yield datetime.combine(day, clock)


def _rrule(cadence: kinds.Recurrence, start: datetime, stop: datetime) -> Iterator[datetime]:
    return rule_nominals(cadence.rule, start, stop)


def _on_days(of: Callable[..., Iterator[date]]) -> Callable[..., Iterator[datetime]]:
    """Return the wall-clock times of a kind that has one time on each of its days."""

    def found(cadence, start: datetime, stop: datetime) -> Iterator[datetime]:
        clock: time = cadence.time
        last = stop.date()
        for day in of(cadence, start.date()):
            if day > last:
                return
            nominal = datetime.combine(day, clock)
            if nominal > start:
                yield nominal

    return found


_BY_KIND: dict[str, Callable[..., Iterator[datetime]]] = {
    "hourly": _hourly,
    "daily": _on_days(days.daily),
    "weekdays": _on_days(days.weekdays),
    "weekly": _on_days(days.weekly),
    "monthly": _on_days(days.monthly),
    "yearly": _on_days(days.yearly),
    "cron": _cron,
    "rrule": _rrule,
}
