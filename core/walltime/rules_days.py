"""Which days an RFC 5545 rule picks in one of its periods (RFC 5545, 3.3.10), at a cost bounded by the period."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache

from core.walltime.rules import Rule

_WEEK = timedelta(days=7)


def first_period(rule: Rule, day: date) -> int:
    """Return the number (from 0, `dtstart` lies in period 0) of the first period that does not end before `day`."""
    begin = rule.dtstart.date()
    if rule.freq == "YEARLY":
        passed = day.year - begin.year
    elif rule.freq == "MONTHLY":
        passed = (day.year - begin.year) * 12 + day.month - begin.month
    elif rule.freq == "WEEKLY":
        passed = (day - _week_of(begin, rule.week_start)).days // 7
    else:
        passed = (day - begin).days
    return max(0, -(-passed // rule.interval))


def period_days(rule: Rule, number: int) -> tuple[date, Sequence[date]]:
    """Return the first day of period `number` and the days that the rule picks in it, in order."""
    steps, begin = number * rule.interval, rule.dtstart.date()
    if rule.freq == "YEARLY":
        return date(begin.year + steps, 1, 1), _year_days(rule, begin.year + steps)
    if rule.freq == "MONTHLY":
        months = begin.year * 12 + begin.month - 1 + steps
        start = date(months // 12, months % 12 + 1, 1)
        fits = not rule.by_month or start.month in rule.by_month
        candidates = _in_months(rule, start.year, [start.month] if fits else [])
    elif rule.freq == "WEEKLY":
        start = _week_of(begin, rule.week_start) + steps * _WEEK
        candidates = (start + timedelta(days=n) for n in range(7))
    else:
        start = begin + timedelta(days=steps)
        candidates = iter((start,))
    return start, [day for day in candidates if _picks(rule, day)]


@lru_cache(maxsize=1024)
def _year_days(rule: Rule, year: int) -> tuple[date, ...]:
    months = sorted(rule.by_month) or range(1, 13)
    return tuple(day for day in _in_months(rule, year, months) if _picks(rule, day))


def _week_of(day: date, week_start: int) -> date:
    return day - timedelta(days=(day.weekday() - week_start) % 7)


def _in_months(rule: Rule, year: int, months: Iterable[int]) -> Iterator[date]:
    for month in months:
        length = monthrange(year, month)[1]
        numbers: Iterable[int] = range(1, length + 1)
        if rule.by_month_day:
            counted = {n if n > 0 else length + 1 + n for n in rule.by_month_day}
            numbers = sorted(n for n in counted if 1 <= n <= length)
        for number in numbers:
            yield date(year, month, number)


def _picks(rule: Rule, day: date) -> bool:
    """Whether the parts of the rule, beyond those that chose the candidates, let `day` through."""
    if rule.freq in ("WEEKLY", "DAILY"):
        if rule.by_month and day.month not in rule.by_month:
            return False
        if rule.by_month_day and not _month_day_fits(rule, day):
            return False
    if rule.by_day and not _weekday_fits(rule, day):
        return False
    if rule.by_year_day and not _year_day_fits(rule, day):
        return False
    return not rule.by_week or _week_fits(rule, day)


def _month_day_fits(rule: Rule, day: date) -> bool:
    if day.day in rule.by_month_day:
        return True
    return day.day - monthrange(day.year, day.month)[1] - 1 in rule.by_month_day


def _year_day_fits(rule: Rule, day: date) -> bool:
    number = day.timetuple().tm_yday
    return number in rule.by_year_day or number - _year_length(day.year) - 1 in rule.by_year_day


def _weekday_fits(rule: Rule, day: date) -> bool:
    weekday = day.weekday()
    if (weekday, 0) in rule.by_day:
        return True
    if not any(day_of_week == weekday for day_of_week, _ in rule.by_day):
        return False
    # RFC 5545: counted within the month where the rule goes by months, else within the year.
    if rule.freq == "MONTHLY" or rule.by_month:
        number, length = day.day, monthrange(day.year, day.month)[1]
    else:
        number, length = day.timetuple().tm_yday, _year_length(day.year)
    ahead, back = (number - 1) // 7 + 1, -((length - number) // 7 + 1)
    return (weekday, ahead) in rule.by_day or (weekday, back) in rule.by_day


def _year_length(year: int) -> int:
    return 366 if isleap(year) else 365


def _week_fits(rule: Rule, day: date) -> bool:
    """RFC 5545: week 1 is the first with at least four days in its year, weeks begin on WKST."""
    middle = _week_of(day, rule.week_start) + timedelta(days=3)
    number = (middle.timetuple().tm_yday - 1) // 7 + 1
    if number in rule.by_week:
        return True
    left = (_year_length(middle.year) - middle.timetuple().tm_yday) // 7
    return -left - 1 in rule.by_week
