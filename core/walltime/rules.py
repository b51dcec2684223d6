"""Reading RFC 5545 recurrence rules, strictly and within what can be answered quickly.

Offered: YEARLY to DAILY with BY parts down to BYMINUTE; HOURLY and MINUTELY without BY parts, as a grid in real time.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time
from functools import lru_cache

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
GRIDS = {"HOURLY": 3600, "MINUTELY": 60}
TOO_COMPLEX = "cadence_too_complex"
INVALID = "cadence_invalid"
LONGEST_TEXT = 2048

# The most an INTERVAL may be: eight years, beyond which nothing is looked for.
_INTERVALS = {"YEARLY": 8, "MONTHLY": 96, "WEEKLY": 417, "DAILY": 2922, "HOURLY": 70_128, "MINUTELY": 4_207_680}
_NUMBERS = {
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
    "BYSETPOS": (1, 366, True),
}
_PARTS = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYSECOND", *_NUMBERS}
# RFC 5545, 3.3.10: parts that a frequency must not have.
_BARRED = {
    "YEARLY": (),
    "MONTHLY": ("BYWEEKNO", "BYYEARDAY"),
    "WEEKLY": ("BYWEEKNO", "BYYEARDAY", "BYMONTHDAY"),
    "DAILY": ("BYWEEKNO", "BYYEARDAY"),
}
_DAY_PARTS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")


class RuleError(ValueError):
    """A rule that is not offered. `code` is one of the error table, `problem` a sentence that says what works."""

    def __init__(self, problem: str, code: str = INVALID) -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem


@dataclass(frozen=True)
class Rule:
    """A rule with everything filled in that it takes from `dtstart` (naive, in the zone it is used with).

    `by_day` holds (weekday, nth), nth 0 for every one; `until` is naive local time or an instant in UTC, inclusive.
    """

    freq: str
    interval: int
    dtstart: datetime
    count: int | None = None
    until: datetime | None = None
    week_start: int = 0
    by_month: frozenset[int] = frozenset()
    by_month_day: frozenset[int] = frozenset()
    by_year_day: frozenset[int] = frozenset()
    by_week: frozenset[int] = frozenset()
    by_day: frozenset[tuple[int, int]] = frozenset()
    by_position: frozenset[int] = frozenset()
    times: tuple[time, ...] = ()

    @property
    def is_grid(self) -> bool:
        """Whether the rule is a grid in real time."""
        return self.freq in GRIDS

    @property
    def period_seconds(self) -> int:
        """The step of a grid, in seconds."""
        return GRIDS[self.freq] * self.interval


@lru_cache(maxsize=4096)
def parse_rule(text: str, dtstart: datetime) -> Rule:
    """Return the rule of an RRULE value such as `FREQ=WEEKLY;BYDAY=MO` that begins at the naive local `dtstart`.

    Raises RuleError: `cadence_invalid` for what RFC 5545 forbids, `cadence_too_complex` for what it allows and this
    product does not offer.
    """
    parts = _split(text)
    freq = parts.pop("FREQ", "")
    if freq == "SECONDLY":
        raise RuleError("A rule by the second is too fine; MINUTELY is the finest.", TOO_COMPLEX)
    if freq not in _INTERVALS:
        raise RuleError("A rule begins with FREQ=YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY or MINUTELY.")
    _refuse_combinations(freq, parts)
    interval = _natural(parts, "INTERVAL", 9) or 1
    if interval > _INTERVALS[freq]:
        raise RuleError("The step may be eight years at most.", TOO_COMPLEX)
    numbers = {name: _numbers(name, parts[name]) for name in _NUMBERS if name in parts}
    days = _days(parts.get("BYDAY"), freq, "BYWEEKNO" in parts)
    return _filled(freq, interval, dtstart, parts=parts, numbers=numbers, days=days)


def _filled(
    freq: str,
    interval: int,
    dtstart: datetime,
    *,
    parts: dict[str, str],
    numbers: dict[str, frozenset[int]],
    days: frozenset[tuple[int, int]],
) -> Rule:
    """Return the rule with the parts it lacks taken from `dtstart` (RFC 5545: information not in the rule)."""
    months, month_days = numbers.get("BYMONTH", frozenset()), numbers.get("BYMONTHDAY", frozenset())
    if freq in ("YEARLY", "MONTHLY") and not any(name in parts for name in _DAY_PARTS):
        month_days = frozenset({dtstart.day})
        months = months or (frozenset({dtstart.month}) if freq == "YEARLY" else months)
    if not days and (freq == "WEEKLY" or (parts.keys() & set(_DAY_PARTS)) == {"BYWEEKNO"}):
        days = frozenset({(dtstart.weekday(), 0)})
    hours = sorted(numbers.get("BYHOUR", frozenset({dtstart.hour})))
    minutes = sorted(numbers.get("BYMINUTE", frozenset({dtstart.minute})))
    return Rule(
        freq=freq,
        interval=interval,
        dtstart=dtstart,
        count=_natural(parts, "COUNT", 9),
        until=_until(parts["UNTIL"]) if "UNTIL" in parts else None,
        week_start=_week_start(parts.get("WKST", "MO")),
        by_month=months,
        by_month_day=month_days,
        by_year_day=numbers.get("BYYEARDAY", frozenset()),
        by_week=numbers.get("BYWEEKNO", frozenset()),
        by_day=days,
        by_position=numbers.get("BYSETPOS", frozenset()),
        times=tuple(time(hour, minute, dtstart.second) for hour in hours for minute in minutes),
    )


def _split(text: str) -> dict[str, str]:
    if len(text) > LONGEST_TEXT:
        raise RuleError(f"A rule has at most {LONGEST_TEXT} characters.")
    parts: dict[str, str] = {}
    for piece in text.upper().removeprefix("RRULE:").removesuffix(";").split(";"):
        name, _, value = piece.partition("=")
        if name not in _PARTS or not value:
            raise RuleError(f"A rule is made of parts such as FREQ=WEEKLY;BYDAY=MO. This is none: {piece[:40]}")
        if name in parts:
            raise RuleError(f"{name} stands twice; once is enough.")
        parts[name] = value
    return parts


def _refuse_combinations(freq: str, parts: dict[str, str]) -> None:
    by_parts = [name for name in parts if name.startswith("BY")]
    if freq in GRIDS and by_parts:
        raise RuleError(f"{freq} works without {by_parts[0]} only; use DAILY with BYHOUR and BYMINUTE.", TOO_COMPLEX)
    if "BYSECOND" in parts:
        raise RuleError("BYSECOND is too fine; BYMINUTE is the finest.", TOO_COMPLEX)
    for name in _BARRED.get(freq, ()):
        if name in parts:
            raise RuleError(f"{name} does not go with {freq}.")
    if "COUNT" in parts and "UNTIL" in parts:
        raise RuleError("COUNT and UNTIL do not go together; keep one.")
    if by_parts == ["BYSETPOS"]:
        raise RuleError("BYSETPOS needs another BY part to choose from.")


def _natural(parts: dict[str, str], name: str, digits: int) -> int | None:
    if name not in parts:
        return None
    if not re.fullmatch(rf"0*[1-9][0-9]{{0,{digits - 1}}}", parts[name]):
        raise RuleError(f"{name} is a whole number from 1.")
    return int(parts[name])


def _numbers(name: str, text: str) -> frozenset[int]:
    least, most, signed = _NUMBERS[name]
    found = set()
    for piece in text.split(","):
        good = re.fullmatch(r"([+-]?)([0-9]{1,3})", piece)
        if not good or not least <= int(good[2]) <= most or (good[1] and not signed):
            raise RuleError(f"{name} takes numbers from {least} to {most}. This is none: {piece[:20]}")
        found.add(int(piece))
    return frozenset(found)


def _days(text: str | None, freq: str, with_weeks: bool) -> frozenset[tuple[int, int]]:
    found = set()
    for piece in text.split(",") if text else []:
        good = re.fullmatch(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)", piece)
        nth = int(good[1]) if good and good[1] else 0
        if not good or (good[1] and not 1 <= abs(nth) <= 53):
            raise RuleError(f"BYDAY takes MO to SU, in monthly and yearly rules with a number: {piece[:20]}")
        if nth and (freq not in ("MONTHLY", "YEARLY") or with_weeks):
            raise RuleError(f"A numbered BYDAY such as {piece} goes with MONTHLY, or with YEARLY without BYWEEKNO.")
        found.add((DAYS.index(good[2]), nth))
    return frozenset(found)


def _week_start(text: str) -> int:
    if text not in DAYS:
        raise RuleError("WKST is one of MO to SU.")
    return DAYS.index(text)


def _until(text: str) -> datetime:
    """Return an inclusive end: an instant for `...Z`, else local time; a bare date ends with its day."""
    good = re.fullmatch(r"([0-9]{8})(?:T([0-9]{6})Z?)?", text)
    if good:
        with suppress(ValueError):
            moment = datetime.fromisoformat(text)
            if not good[2]:
                moment = moment.replace(hour=23, minute=59, second=59, microsecond=999_999)
            return moment.replace(year=min(max(moment.year, 1900), 9980))
    raise RuleError("UNTIL is a date or time such as 20261231, 20261231T090000 or 20261231T080000Z.")
