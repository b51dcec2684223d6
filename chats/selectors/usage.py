"""A person's usage with the names of what it went to: schedules, agents, models."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from accounts.domain.spend import Purse, local_day, month_after, month_of
from accounts.models import User
from accounts.selectors.limits import limits_of
from accounts.selectors.spend import Used, balance_of, usage_by, usage_lines, usage_of, usage_total
from agents.models import Agent, ChatModel
from chats.selectors.spend import purses
from core.registry import schedule_names_of

MOST_LINES = 100_000
PARTS = ("day", "schedule", "agent", "model", "kind")


@dataclass(frozen=True)
class Named:
    """A sum of usage with what its key is called; the name is empty for what is gone and for turns of no schedule."""

    used: Used
    name: str


@dataclass(frozen=True)
class Standing:
    """Where a person stands this month: `most` is the limit of their spending, `balance` their credit; None without."""

    purse: Purse
    most: Decimal | None
    balance: Decimal | None

    @property
    def month(self) -> date:
        return month_of(self.purse.day)

    @property
    def resumes(self) -> date:
        return month_after(self.purse.day)

    @property
    def spent(self) -> Decimal:
        return self.purse.total - self.purse.reserved


def standing_of(user: User, *, now: datetime) -> Standing:
    """Return what `user` has spent and holds in reserve in the month of their zone, and what they may spend."""
    purse = purses({user.pk: user.zone}, now=now)[user.pk]
    return Standing(purse, limits_of(user).monthly_spend, balance_of(user))


def today_of(user: User, *, now: datetime) -> date:
    """Return the day by which usage of `user` is counted now."""
    return local_day(now, user.zone)


def usage_named(user: User, *, since: date, until: date, by: str) -> list[Named]:
    """Return the usage of the days from `since` to `until` added up by `day`, `schedule`, `agent` or `model`."""
    sums = usage_by(usage_of(user, since=since, until=until), by)
    names = _names(user, by, {used.key for used in sums})
    return [Named(used, names.get(used.key, "")) for used in sums]


def usage_summed(user: User, *, since: date, until: date) -> Used:
    """Return all usage of the days from `since` to `until` in one sum."""
    return usage_total(usage_of(user, since=since, until=until))


def usage_rows(user: User, *, since: date, until: date) -> Iterator[tuple[dict[str, str], dict[str, str], Used]]:
    """Yield the usage by day, schedule, agent and model: the keys by name of `PARTS`, the names, the sums."""
    lines = list(usage_lines(usage_of(user, since=since, until=until), most=MOST_LINES))
    keys = [dict(zip(PARTS, line.key.split("\t"), strict=True)) for line in lines]
    named = {part: _names(user, part, {key[part] for key in keys}) for part in ("schedule", "agent", "model")}
    for key, line in zip(keys, lines, strict=True):
        names = {part: known.get(key[part], "") for part, known in named.items()}
        yield key, names, replace(line, key="")


def _names(user: User, by: str, keys: Collection[str]) -> dict[str, str]:
    if by == "schedule":
        return schedule_names_of(user, keys)
    if by == "agent":
        return dict(Agent.objects.filter(public_id__in=list(keys)).values_list("public_id", "name"))
    if by == "model":
        return {model.public_id: str(model) for model in ChatModel.objects.filter(public_id__in=list(keys))}
    return {}
