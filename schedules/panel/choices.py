"""What the dialog offers, and what it starts from."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils.dates import MONTHS, WEEKDAYS, WEEKDAYS_ABBR
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.human import Reader, zone_or_utc
from core.walltime import zone_names
from schedules.outputs.words import MISFIRES, NOTIFIES, OVERLAPS

KINDS = [
    ("once", gettext_lazy("Once")),
    ("hourly", gettext_lazy("Hourly")),
    ("daily", gettext_lazy("Daily")),
    ("weekdays", gettext_lazy("Weekdays")),
    ("weekly", gettext_lazy("Weekly")),
    ("monthly", gettext_lazy("Monthly")),
    ("yearly", gettext_lazy("Yearly")),
    ("interval", gettext_lazy("Interval")),
    ("cron", gettext_lazy("Cron")),
    ("rrule", gettext_lazy("Rule")),
]
QUICK = [
    (1, gettext_lazy("In 1 minute")),
    (5, gettext_lazy("In 5 minutes")),
    (15, gettext_lazy("In 15 minutes")),
]
ENDS = [
    ("never", gettext_lazy("Never")),
    ("date", gettext_lazy("On a date")),
    ("count", gettext_lazy("After a number of runs")),
]
UNITS = [("minutes", gettext_lazy("minutes")), ("hours", gettext_lazy("hours"))]
_NTHS = [
    ("1", gettext_lazy("First")),
    ("2", gettext_lazy("Second")),
    ("3", gettext_lazy("Third")),
    ("4", gettext_lazy("Fourth")),
    ("last", gettext_lazy("Last")),
]
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_FRESH: dict[str, Any] = {
    "name": "",
    "prompt": "",
    "project": "",
    "kind": "daily",
    "minute": "0",
    "time": "09:00",
    "days": ["mon"],
    "every": "1",
    "monthly_by": "day",
    "day": "1",
    "nth": "1",
    "weekday": "mon",
    "month": "1",
    "year_day": "1",
    "interval_every": "2",
    "interval_unit": "hours",
    "expression": "",
    "rule": "",
    "ends": "never",
    "until_date": "",
    "until_time": "",
    "max_runs": "",
    "overlap_policy": "skip",
    "misfire_policy": "miss",
    "misfire_grace_minutes": "15",
    "deadline_minutes": "",
    "retry_window_minutes": "60",
    "notify_on": "failures",
    "monthly_budget": "",
    "enabled": True,
    "revision": "",
}

_STARTS: dict[str, dict[str, Any]] = {
    "briefing": {
        "name": gettext_lazy("Morning briefing"),
        "prompt": gettext_lazy(
            "Good morning. It is {{weekday}}, {{date}}. Give me three points worth a thought today, one sentence "
            "each, and end with one question I should ask myself."
        ),
        "kind": "weekdays",
        "time": "08:00",
    },
    "look-back": {
        "name": gettext_lazy("Weekly look back"),
        "prompt": gettext_lazy(
            "The week is over. Help me look back: ask what I finished, what is still open, and what I would do "
            "differently. Last time you wrote: {{last_answer}}"
        ),
        "kind": "weekly",
        "days": ["fri"],
        "time": "16:00",
    },
    "word": {
        "name": gettext_lazy("A word a day"),
        "prompt": gettext_lazy(
            "Teach me one uncommon word: what it means, where it comes from, and one sentence in which I could use "
            "it today. Not this one again: {{last_answer}}"
        ),
        "kind": "daily",
        "time": "18:00",
    },
}


def fresh_values(reader: Reader, start: str = "") -> dict[str, Any]:
    """Return what a new schedule's form says; `start` names one of the three templates."""
    tomorrow = reader.today + timedelta(days=1)
    values = _FRESH | {
        "zone": reader.zone,
        "at_date": tomorrow.strftime("%Y-%m-%d"),
        "at_time": "09:00",
        "anchor": reader.today.strftime("%Y-%m-%d"),
        "dtstart": tomorrow.strftime("%Y-%m-%dT09:00"),
    }
    return values | {name: _plain(value) for name, value in _STARTS.get(start, {}).items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, list) else str(value)


def quick_values(minutes: int, reader: Reader, zone: str) -> dict[str, str]:
    """Return date and time of the second that lies `minutes` after now, on the clock of `zone`."""
    at = (reader.now + timedelta(minutes=minutes)).astimezone(zone_or_utc(zone))
    return {"at_date": at.strftime("%Y-%m-%d"), "at_time": at.strftime("%H:%M:%S")}


def offered(reader: Reader) -> dict[str, Any]:
    """Return the lists of the form's choices, weekdays in the reader's order."""
    order = [*range(reader.first_weekday, 7), *range(reader.first_weekday)]
    return {
        "kinds": KINDS,
        "quick": QUICK,
        "ends": ENDS,
        "units": UNITS,
        "nths": _NTHS,
        "weekdays": [(_DAYS[day], str(WEEKDAYS_ABBR[day]), str(WEEKDAYS[day])) for day in order],
        "weekday_names": [(_DAYS[day], str(WEEKDAYS[day])) for day in order],
        "months": [(number, str(name)) for number, name in MONTHS.items()],
        "month_days": [*((day, str(day)) for day in range(1, 32)), ("last", _("Last day"))],
        "everys": _everys(),
        "zones": [(name, name.replace("_", " ")) for name in sorted(zone_names())],
        "overlaps": OVERLAPS,
        "misfires": MISFIRES,
        "notifies": NOTIFIES,
    }


def _everys() -> list[tuple[int, str]]:
    ordinal = {1: _("Every one"), 2: _("Every 2nd"), 3: _("Every 3rd")}
    return [(n, ordinal.get(n) or _("Every %(n)sth") % {"n": n}) for n in range(1, 13)]
