"""Recurrence rules that say exactly what one of the simple kinds says, so that they can be put in the same words."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal
from zoneinfo import ZoneInfo

from core.walltime import Rule, place
from schedules.domain import cadence_kinds as kinds

_NTH: dict[int, int | Literal["last"]] = {1: 1, 2: 2, 3: 3, 4: 4, -1: "last"}
_SAFE_DAY = 28


def rule_as_kind(rule: Rule, tz: ZoneInfo) -> kinds.Cadence | None:
    """Return the simple kind with the same occurrences, COUNT and UNTIL apart; None when there is none."""
    if rule.is_grid:
        unit = {"HOURLY": "hours", "MINUTELY": "minutes"}[rule.freq]
        return kinds.Interval(rule.interval, unit, place(rule.dtstart, tz)[0])
    if len(rule.times) != 1 or rule.by_position or rule.by_week or rule.by_year_day:
        return None
    return {"DAILY": _daily, "WEEKLY": _weekly, "MONTHLY": _monthly, "YEARLY": _yearly}[rule.freq](rule)


def _daily(rule: Rule) -> kinds.Cadence | None:
    if rule.by_month or rule.by_month_day or (rule.by_day and rule.interval > 1):
        return None
    if rule.by_day:
        return _weekly(replace(rule, freq="WEEKLY"))
    return kinds.Daily(rule.times[0], rule.interval, rule.dtstart.date())


def _weekly(rule: Rule) -> kinds.Cadence | None:
    if rule.by_month or (rule.interval > 1 and rule.week_start):
        return None
    days = tuple(sorted(weekday for weekday, _ in rule.by_day))
    return kinds.Weekly(days, rule.times[0], rule.interval, rule.dtstart.date())


def _monthly(rule: Rule) -> kinds.Cadence | None:
    if rule.by_month or rule.interval > 1:
        return None
    if len(rule.by_day) == 1 and not rule.by_month_day:
        ((weekday, nth),) = rule.by_day
        return kinds.Monthly(rule.times[0], nth=_NTH[nth], weekday=weekday) if nth in _NTH else None
    if len(rule.by_month_day) == 1 and not rule.by_day:
        (day,) = rule.by_month_day
        if day == -1:
            return kinds.Monthly(rule.times[0], day="last")
        return kinds.Monthly(rule.times[0], day=day) if 0 < day <= _SAFE_DAY else None
    return None


def _yearly(rule: Rule) -> kinds.Cadence | None:
    if rule.by_day or rule.interval > 1 or len(rule.by_month) != 1 or len(rule.by_month_day) != 1:
        return None
    (month,), (day,) = rule.by_month, rule.by_month_day
    if day < 1 or (month == 2 and day > _SAFE_DAY) or day > 31 or (day == 31 and month in (4, 6, 9, 11)):
        return None
    return kinds.Yearly(month, day, rule.times[0])
