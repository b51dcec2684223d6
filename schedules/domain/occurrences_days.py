"""The days of the calendar kinds, each computed from the rule and its anchor, never from the day before (C5)."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta

from schedules.domain import cadence_kinds as kinds
from schedules.domain.cadence_cron import CronFields

_DAY = timedelta(days=1)


def daily(cadence: kinds.Daily, first: date) -> Iterator[date]:
    """Yield the days of a daily cadence from `first` on; nothing lies before the anchor."""
    anchor = cadence.anchor or first
    passed = max(0, (first - anchor).days)
    day = anchor + timedelta(days=-(-passed // cadence.every) * cadence.every)
    step = timedelta(days=cadence.every)
    while True:
        yield day
        day += step


def weekdays(cadence: kinds.Weekdays, first: date) -> Iterator[date]:
    """Yield every Monday to Friday from `first` on."""
    day = first
    while True:
        if day.weekday() < 5:
            yield day
        day += _DAY


def weekly(cadence: kinds.Weekly, first: date) -> Iterator[date]:
    """Yield the days of a weekly cadence from `first` on; weeks begin on Monday, counted from the anchor's."""
    begin = max(first, cadence.anchor) if cadence.anchor else first
    origin = _monday(cadence.anchor or first)
    passed = (_monday(begin) - origin).days // 7
    week = origin + timedelta(weeks=-(-passed // cadence.every) * cadence.every)
    step = timedelta(weeks=cadence.every)
    while True:
        for number in cadence.days:
            day = week + timedelta(days=number)
            if day >= begin:
                yield day
        week += step


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def monthly(cadence: kinds.Monthly, first: date) -> Iterator[date]:
    """Yield one day of every month from `first` on."""
    year, month = first.year, first.month
    while True:
        day = date(year, month, _month_day(cadence, year, month))
        if day >= first:
            yield day
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def _month_day(cadence: kinds.Monthly, year: int, month: int) -> int:
    weekday_of_first, length = monthrange(year, month)
    if cadence.weekday is None:
        return length if cadence.day == "last" else min(int(cadence.day or 1), length)
    if cadence.nth == "last":
        weekday_of_last = (weekday_of_first + length - 1) % 7
        return length - (weekday_of_last - cadence.weekday) % 7
    return 1 + (cadence.weekday - weekday_of_first) % 7 + (int(cadence.nth or 1) - 1) * 7


def yearly(cadence: kinds.Yearly, first: date) -> Iterator[date]:
    """Yield one day of every year from `first` on; 29 February is the 28th in common years."""
    year = first.year
    while True:
        day = date(year, cadence.month, min(cadence.day, monthrange(year, cadence.month)[1]))
        if day >= first:
            yield day
        year += 1


def cron(fields: CronFields, first: date, last: date) -> Iterator[date]:
    """Yield the days of a cron expression from `first` to `last`."""
    day = first
    while day <= last:
        if day.month not in fields.months:
            day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
            continue
        if fields.day_fits(day):
            yield day
        day += _DAY
