"""What the gate asks of money: the purses of those whom something binds, and what another run of a schedule may cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal

from accounts.domain.limits import Limits
from accounts.domain.spend import Over, Purse
from accounts.models import User
from agents.domain.pricing import Prices, estimate_of
from agents.runtime.text import estimate_tokens
from chats.selectors.spend import purses
from schedules.models import Schedule


def costs_of(schedule: Schedule) -> list[Decimal]:
    """Return what the schedule's last runs cost, oldest first."""
    return [Decimal(cost) for cost in schedule.recent_costs]


def spent_this_month(schedule: Schedule, *, now: datetime) -> Decimal:
    """Return what counts for the schedule's budget in the month of its owner's zone: spent, and held by running turns."""
    owner = schedule.owner
    return purses({owner.pk: owner.zone}, now=now)[owner.pk].taken.get(schedule.public_id, Decimal(0))


def run_estimate(schedule: Schedule | None, *, prompt: str, prices: Prices) -> Decimal | None:
    """Return about what one more run costs; None without prices. A run without a schedule has only its prompt."""
    recent = costs_of(schedule) if schedule is not None else []
    return estimate_of(prices, recent=recent, prompt_tokens=estimate_tokens(prompt))


def purses_of(people: Iterable[User], *, limits: Mapping[int, Limits], now: datetime) -> dict[int, Purse]:
    """Return the purses of those of `people` whom a credit or a budget binds; no query when there are none."""
    bound = [
        user for user in people if user.on_credit or user.budgeted or limits[user.pk].monthly_spend is not None
    ]  # fmt: skip
    return purses({user.pk: user.zone for user in bound}, now=now)


def over_spend(
    purse: Purse | None, schedule: Schedule | None, *, prompt: str, prices: Prices, most: Decimal | None
) -> Over | None:
    """Return what one more run does not fit, as its start would say it now (gate row 14); None when it fits."""
    estimate = run_estimate(schedule, prompt=prompt, prices=prices) if purse is not None else None
    if purse is None or estimate is None:
        return None
    if schedule is None:
        return purse.over(estimate, most=most)
    return purse.over(estimate, schedule=schedule.public_id, budget=schedule.monthly_budget, most=most)
