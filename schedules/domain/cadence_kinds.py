"""The ten kinds of cadence as values: frozen, hashable, comparable. Zones stay outside (C1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import ClassVar, Literal

from core.walltime import Rule

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

UNIT_SECONDS = {"minutes": 60, "hours": 3600}


@dataclass(frozen=True)
class Cadence:
    """The rule for when. `main_field` is where a refusal of the whole rule is shown."""

    kind: ClassVar[str] = ""
    main_field: ClassVar[str] = "kind"


@dataclass(frozen=True)
class Once(Cadence):
    """One occurrence: `local` wall-clock time or `instant`; `text` is what was sent and is echoed."""

    text: str
    local: datetime | None = None
    instant: datetime | None = None
    kind: ClassVar[str] = "once"
    main_field: ClassVar[str] = "at"


@dataclass(frozen=True)
class Hourly(Cadence):
    """Every instant at which the clock shows `minute`."""

    minute: int
    kind: ClassVar[str] = "hourly"


@dataclass(frozen=True)
class Daily(Cadence):
    """Every `every` days at `time`, counted from `anchor`."""

    time: time
    every: int = 1
    anchor: date | None = None
    kind: ClassVar[str] = "daily"
    main_field: ClassVar[str] = "every"


@dataclass(frozen=True)
class Weekdays(Cadence):
    """Monday to Friday at `time`."""

    time: time
    kind: ClassVar[str] = "weekdays"


@dataclass(frozen=True)
class Weekly(Cadence):
    """On `days` (0 is Monday, in order) of every `every`-th week, counted from the week of `anchor`."""

    days: tuple[int, ...]
    time: time
    every: int = 1
    anchor: date | None = None
    kind: ClassVar[str] = "weekly"
    main_field: ClassVar[str] = "days"


@dataclass(frozen=True)
class Monthly(Cadence):
    """On `day` (short months: their last), or on the `nth` `weekday`, at `time`."""

    time: time
    day: int | Literal["last"] | None = None
    nth: int | Literal["last"] | None = None
    weekday: int | None = None
    kind: ClassVar[str] = "monthly"


@dataclass(frozen=True)
class Yearly(Cadence):
    """On `day` of `month` at `time`; 29 February is the 28th in common years."""

    month: int
    day: int
    time: time
    kind: ClassVar[str] = "yearly"


@dataclass(frozen=True)
class Interval(Cadence):
    """Every `every` `unit` of real time, on a grid from the instant `anchor` (UTC)."""

    every: int
    unit: str
    anchor: datetime | None = None
    kind: ClassVar[str] = "interval"
    main_field: ClassVar[str] = "every"

    @property
    def period(self) -> timedelta:
        """The step of the grid."""
        return timedelta(seconds=self.every * UNIT_SECONDS[self.unit])


@dataclass(frozen=True)
class Cron(Cadence):
    """Five cron fields."""

    expression: str
    kind: ClassVar[str] = "cron"
    main_field: ClassVar[str] = "expression"


@dataclass(frozen=True)
class Recurrence(Cadence):
    """An RFC 5545 rule; `dtstart` and `text` are what was sent and is echoed."""

    dtstart: str
    text: str
    rule: Rule
    kind: ClassVar[str] = "rrule"
    main_field: ClassVar[str] = "rule"
