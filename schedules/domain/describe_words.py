"""Words for times, dates and weekdays, by the person's locale and clock. Templates are marked for translation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo


def gettext_noop(text: str) -> str:
    """Mark a text for translation without translating it."""
    return text


def _same(text: str) -> str:
    return text


WEEKDAY_NAMES = (
    gettext_noop("Monday"),
    gettext_noop("Tuesday"),
    gettext_noop("Wednesday"),
    gettext_noop("Thursday"),
    gettext_noop("Friday"),
    gettext_noop("Saturday"),
    gettext_noop("Sunday"),
)
WEEKDAY_PLURALS = (
    gettext_noop("Mondays"),
    gettext_noop("Tuesdays"),
    gettext_noop("Wednesdays"),
    gettext_noop("Thursdays"),
    gettext_noop("Fridays"),
    gettext_noop("Saturdays"),
    gettext_noop("Sundays"),
)
MONTH_NAMES = (
    gettext_noop("January"),
    gettext_noop("February"),
    gettext_noop("March"),
    gettext_noop("April"),
    gettext_noop("May"),
    gettext_noop("June"),
    gettext_noop("July"),
    gettext_noop("August"),
    gettext_noop("September"),
    gettext_noop("October"),
    gettext_noop("November"),
    gettext_noop("December"),
)
NTH = {
    1: gettext_noop("first"),
    2: gettext_noop("second"),
    3: gettext_noop("third"),
    4: gettext_noop("fourth"),
    5: gettext_noop("fifth"),
    "last": gettext_noop("last"),
}
_MONTH_FIRST = ("en-us", "en_us", "en-ca", "en_ca")


@dataclass(frozen=True)
class Style:
    """How a person reads: locale, 12- or 24-hour clock, first weekday (0 is Monday), and the translation of a text."""

    locale: str = "en"
    clock: int = 24
    first_weekday: int = 0
    translate: Callable[[str], str] = _same

    def say(self, template: str, **values: object) -> str:
        """Return the translated template with its values filled in."""
        return self.translate(template).format(**values)

    def time(self, at: time | datetime) -> str:
        """Return `08:00` or `8:00 am`, with seconds only when there are any."""
        seconds = f":{at.second:02}" if at.second else ""
        if self.clock == 24:
            return f"{at.hour:02}:{at.minute:02}{seconds}"
        half = self.translate("am") if at.hour < 12 else self.translate("pm")
        return f"{at.hour % 12 or 12}:{at.minute:02}{seconds} {half}"

    def month_day(self, month: int, day: int) -> str:
        """Return `29 February`, or `February 29` where the month comes first."""
        name = self.translate(MONTH_NAMES[month - 1])
        return f"{name} {day}" if self.locale.lower() in _MONTH_FIRST else f"{day} {name}"

    def date(self, day: date) -> str:
        """Return `1 April 2026`, or `April 1, 2026` where the month comes first."""
        comma = "," if self.locale.lower() in _MONTH_FIRST else ""
        return f"{self.month_day(day.month, day.day)}{comma} {day.year}"

    def weekday(self, number: int) -> str:
        """Return the name of a weekday (0 is Monday)."""
        return self.translate(WEEKDAY_NAMES[number])

    def weekdays(self, numbers: Sequence[int], names: Sequence[str] = WEEKDAY_NAMES) -> str:
        """Return weekdays as a list in words, beginning with the person's first day of the week."""
        ordered = sorted(numbers, key=lambda number: (number - self.first_weekday) % 7)
        return self.list([self.translate(names[number]) for number in ordered])

    def list(self, words: Sequence[str]) -> str:
        """Return `a`, `a and b` or `a, b and c`."""
        if len(words) == 1:
            return words[0]
        return self.say(gettext_noop("{head} and {last}"), head=", ".join(words[:-1]), last=words[-1])

    def ordinal(self, day: int) -> str:
        """Return the number of a day of the month: `31st`."""
        ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
        return f"{day}{self.translate(ending)}"


def offset_words(local: datetime, tz: tzinfo) -> str:
    """Return the offset of a local time as `UTC+01:00`; `local.fold` tells the two passes of an hour apart."""
    text = local.replace(tzinfo=tz).strftime("%z")
    return f"UTC{text[:3]}:{text[3:5]}"
