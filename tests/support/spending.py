"""What tests of spending share: priced agents, schedules with a budget, and hours that are played."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from accounts.models import User
from agents.models import Agent
from chats.selectors.spend import purses
from schedules.models import Schedule
from tests.factories import make_agent, make_model
from tests.support.engine import DAY, HOUR, MINUTE, NOW, begin, due_schedule, ended, fire, ledger, settle

CENTS_30 = {"input_tokens": 100_000, "output_tokens": 0}
"""What costs 0.30 at 3 per million."""


def priced(**fields: Any) -> Agent:
    """Return an agent whose model costs 3 per million tokens of input."""
    return make_agent(model=make_model(price_input=Decimal(3), price_output=Decimal(0)), **fields)


def budgeted(owner: User, budget: str | None = "1.00", **fields: Any) -> Schedule:
    """Return an hourly schedule that is due now and has a budget a month."""
    User.objects.filter(pk=owner.pk).update(budgeted=budget is not None)
    amount = None if budget is None else Decimal(budget)
    return due_schedule(owner, agent=fields.pop("agent", None) or priced(), monthly_budget=amount, **fields)


def hours(count: int, *, start: datetime = NOW, usage: dict[str, int] = CENTS_30) -> None:
    """Play `count` hours: what is due fires, starts and answers."""
    for number in range(count):
        at = start + number * HOUR
        fire(at)
        for work in begin(at):
            settle(ended(work, **usage), now=at + MINUTE)


def reasons(schedule: Schedule) -> list[tuple[str, str]]:
    """Return (status, reason) of every row of `schedule`, oldest occurrence first."""
    return [(status, reason) for status, reason, _ in ledger(schedule)]


def spent(user: User, now: datetime = NOW + DAY) -> Decimal:
    """Return what `user` has spent and holds in reserve in the month of `now`."""
    return purses({user.pk: user.zone}, now=now)[user.pk].total
