"""How instants, spans and amounts are said to one person: in their zone, on their clock, next to their now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import dateformat
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from core.errors import CATALOGUE, sentence


@lru_cache(maxsize=512)
def zone_or_utc(name: str) -> ZoneInfo:
    """Return the zone called `name`, or UTC when the zone data do not know it: a page is shown all the same."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")


@lru_cache(maxsize=2048)
def _day(day: date, form: str, language: str | None) -> str:
    """Return `day` by Django's format in the language that is active; kept, since lists say the same days again."""
    return dateformat.format(day, form)


@dataclass(frozen=True)
class Stamp:
    """One instant, said twice: `text` for the eye, `title` in full with its zone, `iso` for machines."""

    iso: str
    title: str
    text: str


@dataclass(frozen=True)
class Reader:
    """The person who reads: `now` is the instant of the page, `clock` is "24" or "12"."""

    now: datetime
    zone: str = "UTC"
    clock: str = "24"
    first_weekday: int = 0

    @cached_property
    def tz(self) -> ZoneInfo:
        return zone_or_utc(self.zone)

    @cached_property
    def today(self) -> datetime:
        """Return the local date and time of now."""
        return self.now.astimezone(self.tz)

    @property
    def place(self) -> str:
        """Return the last part of the zone's name, as people say it ("New York")."""
        return self.zone.rpartition("/")[2].replace("_", " ")

    def in_zone(self, zone: str) -> Reader:
        """Return the same reader looking at another zone's clock."""
        return self if zone == self.zone else Reader(self.now, zone, self.clock, self.first_weekday)

    def at(self, instant: datetime, *, exact: bool = False) -> str:
        """Return the clock time; `exact` adds the seconds when there are any."""
        local = instant.astimezone(self.tz)
        seconds = exact and local.second
        if self.clock != "12":
            return local.strftime("%H:%M:%S" if seconds else "%H:%M")
        return dateformat.format(local, "g:i:s A" if seconds else "g:i A")

    def date(self, instant: datetime) -> str:
        """Return the day as near as it is: today, a weekday within the week, a date, with its year when another."""
        local = instant.astimezone(self.tz)
        days = (local.date() - self.today.date()).days
        near = {0: _("today"), 1: _("tomorrow"), -1: _("yesterday")}
        if days in near:
            return near[days]
        if 1 < days < 7:
            return _day(local.date(), "D", get_language())
        return _day(local.date(), "D j M" if local.year == self.today.year else "j M Y", get_language())

    def day_short(self, instant: datetime) -> str:
        """Return the day of a row in a list of days: "Sun 28 Mar", with its year when it is another."""
        local = instant.astimezone(self.tz)
        return dateformat.format(local, "D j M" if local.year == self.today.year else "D j M Y")

    def day_title(self, instant: datetime) -> str:
        """Return a day as a heading: "Today, Friday 26 March"."""
        local = instant.astimezone(self.tz)
        days = (local.date() - self.today.date()).days
        day = dateformat.format(local, "l j F" if local.year == self.today.year else "l j F Y")
        if days == 0:
            return _("Today, %(day)s") % {"day": day}
        return _("Yesterday, %(day)s") % {"day": day} if days == -1 else day

    def short(self, instant: datetime, *, exact: bool = False) -> str:
        """Return day and time: "today 18:00", "Mon 08:00", "Fri 19 Mar 08:00"."""
        return f"{self.date(instant)} {self.at(instant, exact=exact)}"

    def full(self, instant: datetime) -> str:
        """Return everything: "Friday 26 March 2027, 18:00 Europe/Berlin"."""
        local = instant.astimezone(self.tz)
        return f"{_day(local.date(), 'l j F Y', get_language())}, {self.at(instant, exact=True)} {self.zone}"

    def away(self, instant: datetime) -> str:
        """Return how far off the instant is: "in 2 d 21 h", "in 12 min", "3 min ago", "now"."""
        seconds = (instant - self.now).total_seconds()
        if abs(seconds) < 1:
            return _("now")
        span = _rough(abs(seconds))
        return (_("in %(span)s") if seconds > 0 else _("%(span)s ago")) % {"span": span}

    def stamp(self, instant: datetime, text: str = "") -> Stamp:
        """Return the instant for a `<time>` element, absolute for the eye unless `text` says it otherwise."""
        iso = instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Stamp(iso=iso, title=self.full(instant), text=text or self.short(instant))

    def day_bounds(self) -> tuple[datetime, datetime]:
        """Return the first instants of the reader's today and tomorrow."""
        start = self.today.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        return start.astimezone(UTC), (start + timedelta(days=1)).astimezone(UTC)


def _rough(seconds: float) -> str:
    """Return a span in the one or two units that matter at its size."""
    whole = round(seconds / 60) * 60 if seconds >= 60 else int(seconds)
    days, hours, minutes = whole // 86400, whole % 86400 // 3600, whole % 3600 // 60
    if days:
        return f"{days} d {hours} h" if hours and days < 100 else f"{days} d"
    if hours:
        return f"{hours} h {minutes} min" if minutes and hours < 3 else f"{hours} h"
    return f"{minutes} min" if minutes else f"{max(whole, 1)} s"


def duration(seconds: float | None) -> str:
    """Return how long something took: "9 s", "1 min 48 s", "41 min", "2 h 5 min"; empty for None."""
    if seconds is None:
        return ""
    if 0 < seconds < 1:
        return _("under 1 s")
    whole = max(0, round(seconds))
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    return f"{rest} s"


_UNITS = (
    (86400, 172800, "%(n)s day", "%(n)s days"),
    (3600, 3600, "%(n)s hour", "%(n)s hours"),
    (60, 60, "%(n)s minute", "%(n)s minutes"),
    (1, 0, "%(n)s second", "%(n)s seconds"),
)


def setting_span(seconds: int) -> str:
    """Return a span that somebody set, exactly, in its largest whole unit: "15 minutes", "24 hours", "3 days"."""
    for size, least, one, many in _UNITS:
        if seconds >= least and seconds % size == 0:
            count = seconds // size
            return ngettext(one, many, count) % {"n": f"{count:,}"}
    return str(seconds)


def money(amount: Decimal | None) -> str:
    """Return a cost with as many places as it needs to be seen; empty when there is none."""
    if amount is None or amount == 0:
        return ""
    places = 2 if amount >= 1 else 3 if amount >= Decimal("0.001") else 6
    return f"{amount:,.{places}f}"


def say(code: str, params: Mapping[str, Any] | None = None) -> str:
    """Return the sentence of an error or reason code in the reader's language, with its parameters."""
    entry = CATALOGUE.get(code)
    if entry is None:
        return code
    translated = _(entry.sentence)
    return sentence(code, params) if translated == entry.sentence else translated.format_map(dict(params or {}))


def version(value: Any) -> str:
    """Return a short digest of what a page shows: two renderings with one version look the same."""
    text = json.dumps(value, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.blake2s(text.encode(), digest_size=16).hexdigest()
