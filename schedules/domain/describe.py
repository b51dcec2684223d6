"""A cadence as a sentence for people: "Every weekday at 08:00, Europe/Berlin"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from core import walltime
from schedules.domain import cadence_kinds as kinds
from schedules.domain.cadence_kinds import Cadence
from schedules.domain.cadence_zone import zone_of
from schedules.domain.describe_cron import cron_words
from schedules.domain.describe_rule import rule_as_kind
from schedules.domain.describe_warnings import Warning, warnings
from schedules.domain.describe_words import NTH, WEEKDAY_PLURALS, Style, gettext_noop, offset_words

__all__ = ["Style", "Warning", "describe", "describe_short", "warnings"]

_ALL_DAYS, _WORK_DAYS = (0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4)


def describe(
    cadence: Cadence,
    zone: str,
    *,
    locale: str = "en",
    clock: int | str = 24,
    first_weekday: int = 0,
    translate: Callable[[str], str] | None = None,
) -> str:
    """Return the sentence of a cadence with its zone.

    `clock` is 12 or 24, `first_weekday` 0 for Monday, `translate` turns a template of this module into the person's
    language. Cron and rules are in words only when the words are exact, always with their text beside them. Raises
    CadenceError `zone_unknown`.
    """
    style = Style(locale, int(clock), first_weekday, translate or str)
    return style.say(gettext_noop("{sentence}, {zone}"), sentence=_sentence(cadence, zone, style, True), zone=zone)


def describe_short(
    cadence: Cadence,
    zone: str,
    *,
    locale: str = "en",
    clock: int | str = 24,
    first_weekday: int = 0,
    translate: Callable[[str], str] | None = None,
) -> str:
    """Return the short form for cards, without the zone: "Fridays at 09:00". Raises CadenceError `zone_unknown`."""
    return _sentence(cadence, zone, Style(locale, int(clock), first_weekday, translate or str), False)


def _sentence(cadence: Cadence, zone: str, style: Style, full: bool) -> str:
    return _BY_KIND[cadence.kind](cadence, zone_of(zone), style, full)


def _once(cadence: kinds.Once, tz: ZoneInfo, style: Style, full: bool) -> str:
    local = walltime.show(cadence.instant, tz) if cadence.instant else cadence.local
    assert local is not None
    at = style.time(local)
    twice = local.replace(tzinfo=tz, fold=0).utcoffset() != local.replace(tzinfo=tz, fold=1).utcoffset()
    if cadence.instant is not None and twice:
        at = f"{at} {offset_words(local, tz)}"
    template = gettext_noop("Once on {weekday} {date} at {time}") if full else gettext_noop("Once on {date} at {time}")
    return style.say(template, weekday=style.weekday(local.weekday()), date=style.date(local), time=at)


def _hourly(cadence: kinds.Hourly, tz: ZoneInfo, style: Style, full: bool) -> str:
    return style.say(gettext_noop("Every hour at :{minute}"), minute=f"{cadence.minute:02}")


def _daily(cadence: kinds.Daily, tz: ZoneInfo, style: Style, full: bool) -> str:
    if cadence.every == 1:
        return style.say(gettext_noop("Every day at {time}"), time=style.time(cadence.time))
    words = style.say(gettext_noop("Every {n} days at {time}"), n=cadence.every, time=style.time(cadence.time))
    return _from(words, cadence, style, full)


def _from(words: str, cadence: kinds.Daily | kinds.Weekly, style: Style, full: bool) -> str:
    if cadence.anchor is None or not full:
        return words
    return style.say(gettext_noop("{words}, from {date}"), words=words, date=style.date(cadence.anchor))


def _weekdays(cadence: kinds.Weekdays, tz: ZoneInfo, style: Style, full: bool) -> str:
    return style.say(gettext_noop("Every weekday at {time}"), time=style.time(cadence.time))


def _weekly(cadence: kinds.Weekly, tz: ZoneInfo, style: Style, full: bool) -> str:
    at, days = style.time(cadence.time), style.weekdays(cadence.days)
    if cadence.every > 1:
        template = gettext_noop("Every {n} weeks on {days} at {time}")
        return _from(style.say(template, n=cadence.every, days=days, time=at), cadence, style, full)
    if cadence.days == _ALL_DAYS:
        return style.say(gettext_noop("Every day at {time}"), time=at)
    if cadence.days == _WORK_DAYS:
        return style.say(gettext_noop("Every weekday at {time}"), time=at)
    if full:
        return style.say(gettext_noop("Every {days} at {time}"), days=days, time=at)
    return style.say(gettext_noop("{days} at {time}"), days=style.weekdays(cadence.days, WEEKDAY_PLURALS), time=at)


def _monthly(cadence: kinds.Monthly, tz: ZoneInfo, style: Style, full: bool) -> str:
    at = style.time(cadence.time)
    if cadence.weekday is not None and cadence.nth is not None:
        nth, weekday = style.translate(NTH[cadence.nth]), style.weekday(cadence.weekday)
        template = gettext_noop("On the {nth} {weekday} of every month at {time}")
        return style.say(template, nth=nth, weekday=weekday, time=at)
    if cadence.day == "last":
        return style.say(gettext_noop("On the last day of every month at {time}"), time=at)
    day = style.ordinal(int(cadence.day or 1))
    return style.say(gettext_noop("On the {day} of every month at {time}"), day=day, time=at)


def _yearly(cadence: kinds.Yearly, tz: ZoneInfo, style: Style, full: bool) -> str:
    day = style.month_day(cadence.month, cadence.day)
    return style.say(gettext_noop("Every year on {date} at {time}"), date=day, time=style.time(cadence.time))


def _interval(cadence: kinds.Interval, tz: ZoneInfo, style: Style, full: bool) -> str:
    anchor = walltime.show(cadence.anchor, tz) if cadence.anchor else None
    if cadence.unit == "hours" and anchor and not anchor.second and _by_whole_hours(anchor, tz):
        if cadence.every == 1:
            return style.say(gettext_noop("Every hour at :{minute}"), minute=f"{anchor.minute:02}")
        template = gettext_noop("Every {n} hours at :{minute}")
        return style.say(template, n=cadence.every, minute=f"{anchor.minute:02}")
    if cadence.every == 1:
        single = {"minutes": gettext_noop("Every minute"), "hours": gettext_noop("Every hour")}
        return style.translate(single[cadence.unit])
    several = {"minutes": gettext_noop("Every {n} minutes"), "hours": gettext_noop("Every {n} hours")}
    words = style.say(several[cadence.unit], n=cadence.every)
    if anchor is None or not full:
        return words
    template = gettext_noop("{words}, counted from {date} at {time}")
    return style.say(template, words=words, date=style.date(anchor), time=style.time(anchor))


def _by_whole_hours(anchor: datetime, tz: ZoneInfo) -> bool:
    """Whether the zone's clock changes by whole hours, so that a grid of hours keeps its minute."""
    offsets = {(anchor + timedelta(days=n)).replace(tzinfo=tz).utcoffset() for n in range(0, 366, 61)}
    return len({offset % timedelta(hours=1) for offset in offsets if offset is not None}) == 1


def _cron(cadence: kinds.Cron, tz: ZoneInfo, style: Style, full: bool) -> str:
    words = cron_words(cadence.expression, style)
    if words is None:
        return style.say(gettext_noop("By the cron expression {expression}"), expression=cadence.expression)
    return style.say(gettext_noop("{words} ({expression})"), words=words, expression=cadence.expression)


def _rrule(cadence: kinds.Recurrence, tz: ZoneInfo, style: Style, full: bool) -> str:
    rule = cadence.rule
    alike = rule_as_kind(rule, tz)
    begin = style.date(rule.dtstart)
    if alike is None:
        return style.say(gettext_noop("By the rule {rule} from {date}"), rule=cadence.text, date=begin)
    words = _BY_KIND[alike.kind](alike, tz, style, False)
    if rule.count is not None:
        words = style.say(gettext_noop("{words}, {n} times from {date}"), words=words, n=rule.count, date=begin)
    elif rule.until is not None:
        local = walltime.show(rule.until, tz) if rule.until.tzinfo else rule.until
        words = style.say(gettext_noop("{words}, until {date}"), words=words, date=style.date(local))
    return style.say(gettext_noop("{words} ({expression})"), words=words, expression=cadence.text)


_BY_KIND: dict[str, Callable[..., str]] = {
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
