"""What may still be spent: budgets of a month and a credit, asked before a model is called. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from core import walltime


def local_day(now: datetime, zone: str) -> date:
    """Return the date of `now` on the owner's clock; in UTC when the zone data do not know the zone."""
    try:
        return now.astimezone(walltime.zone(zone)).date()
    except walltime.UnknownZone:
        return now.date()


def month_of(day: date) -> date:
    """Return the first day of the month, which names the period of a budget."""
    return day.replace(day=1)


def month_after(day: date) -> date:
    """Return the first day of the next month: from then on a budget is whole again."""
    return (month_of(day) + timedelta(days=32)).replace(day=1)


@dataclass(frozen=True)
class Over:
    """Why a turn may not start: `balance`, or `budget` with the amount, whose it is and when it goes on."""

    reason: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class Purse:
    """What one owner has spent or holds in reserve in the month of `day`, by schedule ("" for all other turns).

    `reserved` is the part of it that running turns hold. `credit` is the balance less what is reserved; None for
    somebody without one, whom it does not bind.
    """

    day: date
    taken: dict[str, Decimal] = field(default_factory=dict)
    reserved: Decimal = Decimal(0)
    credit: Decimal | None = None

    @property
    def total(self) -> Decimal:
        return sum(self.taken.values(), Decimal(0))

    def over(
        self, estimate: Decimal, *, schedule: str = "", budget: Decimal | None = None, most: Decimal | None = None
    ) -> Over | None:
        """Return what `estimate` does not fit: the credit, the schedule's `budget`, the owner's `most`; else None."""
        if self.credit is not None and self.credit < estimate:
            return Over("balance")
        if budget is not None and self.taken.get(schedule, Decimal(0)) + estimate > budget:
            return self._reached(budget, "schedule")
        if most is not None and self.total + estimate > most:
            return self._reached(most, "owner")
        return None

    def take(
        self, estimate: Decimal, *, schedule: str = "", budget: Decimal | None = None, most: Decimal | None = None
    ) -> Over | None:
        """Reserve `estimate` when it fits, so that the next turn of one batch is asked with it; else say why not."""
        over = self.over(estimate, schedule=schedule, budget=budget, most=most)
        if over is None:
            self.taken[schedule] = self.taken.get(schedule, Decimal(0)) + estimate
            if self.credit is not None:
                self.credit -= estimate
        return over

    def _reached(self, most: Decimal, of: str) -> Over:
        month, resumes = f"{self.day:%Y-%m}", month_after(self.day).isoformat()
        return Over("budget", {"most": f"{most:.2f}", "of": of, "month": month, "resumes": resumes})
