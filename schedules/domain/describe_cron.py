"""Cron in words, for the shapes whose words are exact; every other expression is shown as it is."""

from __future__ import annotations

import re
from datetime import time

from schedules.domain.cadence_cron import CronFields, cron_fields
from schedules.domain.describe_words import NTH, WEEKDAY_PLURALS, Style, gettext_noop

_MOST_TIMES = 4
_ALL_DAYS, _WORK_DAYS = (0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4)
_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def cron_words(expression: str, style: Style) -> str | None:
    """Return the words of an expanded expression, or None when none are exact."""
    fields = cron_fields(expression)
    when = _when(fields, style)
    days = _days(fields, style)
    if when is None or days is None:
        return None
    alone, joined = when
    if days == "":
        return alone
    return style.say(gettext_noop("{days}{times}"), days=days, times=joined)


def _when(fields: CronFields, style: Style) -> tuple[str, str] | None:
    """Return the times in words: standing alone (every day), and after days."""
    minute, hour = fields.parts[0], fields.parts[1]
    if hour == "*":
        words = _within_hour(fields, minute, style)
        return (words, f", {_lower(words)}") if words else None
    if fields.real_time or len(fields.times) > _MOST_TIMES:
        return None
    times = style.list([style.time(time(h, m)) for h in fields.hours for m in fields.minutes])
    return (
        style.say(gettext_noop("Every day at {time}"), time=times),
        style.say(gettext_noop(" at {time}"), time=times),
    )


def _within_hour(fields: CronFields, minute: str, style: Style) -> str | None:
    if minute == "*":
        return style.translate(gettext_noop("Every minute"))
    step = re.fullmatch(r"\*/([0-9]+)", minute)
    if step and 1 < int(step[1]) < 60 and 60 % int(step[1]) == 0:
        return style.say(gettext_noop("Every {n} minutes"), n=int(step[1]))
    if len(fields.minutes) == 1:
        return style.say(gettext_noop("Every hour at :{minute}"), minute=f"{fields.minutes[0]:02}")
    return None


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


def _days(fields: CronFields, style: Style) -> str | None:
    """Return the days in words: empty for every day, None when no words are exact."""
    day, month, weekday = fields.parts[2:]
    if (day, month, weekday) == ("*", "*", "*"):
        return ""
    if weekday == "*":
        return _by_date(day, month, fields, style)
    return _by_weekday(weekday, style) if (day, month) == ("*", "*") else None


def _by_date(day: str, month: str, fields: CronFields, style: Style) -> str | None:
    if day == "L" and month == "*":
        return style.translate(gettext_noop("On the last day of every month"))
    if not re.fullmatch(r"[0-9]+", day) or int(day) > 28:
        return None
    if month == "*":
        return style.say(gettext_noop("On the {day} of every month"), day=style.ordinal(int(day)))
    if len(fields.months) != 1:
        return None
    (number,) = fields.months
    return style.say(gettext_noop("Every year on {date}"), date=style.month_day(number, int(day)))


def _by_weekday(text: str, style: Style) -> str | None:
    nth = re.fullmatch(r"([0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)#([1-5])|([0-7])(L)", text)
    if nth:
        name = style.weekday(_monday_first(nth[1] or nth[3]))
        number = style.translate(NTH[int(nth[2])] if nth[2] else NTH["last"])
        return style.say(gettext_noop("On the {nth} {weekday} of every month"), nth=number, weekday=name)
    if "#" in text or "L" in text or "/" in text:
        return None
    days = tuple(sorted({day for piece in text.split(",") for day in _range(piece)}))
    if days == _ALL_DAYS:
        return ""
    if days == _WORK_DAYS:
        return style.translate(gettext_noop("Every weekday"))
    return style.weekdays(days, WEEKDAY_PLURALS)


def _range(piece: str) -> list[int]:
    first, _, last = piece.partition("-")
    begin, end = _cron_number(first), _cron_number(last or first)
    return [(number - 1) % 7 for number in range(begin, end + 1)]


def _cron_number(name: str) -> int:
    return _NAMES.index(name) if name in _NAMES else int(name)


def _monday_first(name: str) -> int:
    return (_cron_number(name) - 1) % 7
