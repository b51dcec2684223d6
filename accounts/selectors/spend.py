"""Reads of the two ledgers: what was used, by day, schedule, agent or model, and what is left of a credit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum, Value
from django.db.models.fields import CharField

from accounts.domain.spend import month_after
from accounts.models import CreditEntry, UsageEntry, User

STEP = Decimal("0.000001")
GROUPS = {"day": "day", "schedule": "schedule", "agent": "agent", "model": "model"}
"""What usage is added up by, and the column that says it."""

_NAMED = CharField()


@dataclass(frozen=True)
class Used:
    """A sum of usage: under a `key` of its group, or of everything. `cost` leaves out what had no price."""

    key: str
    turns: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: Decimal
    estimated: bool


def amount(value: Any) -> Decimal:
    """Return a sum as the exact amount it is: SQLite adds up in binary, which is off by far less than a step."""
    return Decimal(value or 0).quantize(STEP)


def spent_rows(months: Mapping[int, date]) -> QuerySet[UsageEntry, Any]:
    """Return (owner, "spent", schedule, sum) of each owner's month, given by its first day."""
    owners: dict[date, list[int]] = defaultdict(list)
    for owner, month in months.items():
        owners[month].append(owner)
    within = Q(pk__in=[])
    for month, ids in owners.items():
        within |= Q(owner__in=ids, day__gte=month, day__lt=month_after(month))
    rows = UsageEntry.objects.filter(within).values("owner_id", "schedule").annotate(total=Sum("cost"))
    return rows.annotate(what=Value("spent", _NAMED)).values_list("owner_id", "what", "schedule", "total")


def credit_rows(owners: list[int]) -> QuerySet[CreditEntry, Any]:
    """Return (owner, "credit", "", balance) of those who have a credit."""
    rows = CreditEntry.objects.filter(owner__in=owners).values("owner_id").annotate(total=Sum("amount"))
    named = rows.annotate(what=Value("credit", _NAMED), schedule=Value("", _NAMED))
    return named.values_list("owner_id", "what", "schedule", "total")


def balance_of(user: User) -> Decimal | None:
    """Return what is left of the credit of `user`; None for somebody without one."""
    if not user.on_credit:
        return None
    return amount(CreditEntry.objects.filter(owner=user).aggregate(total=Sum("amount"))["total"])


def credit_entries(user: User) -> QuerySet[CreditEntry]:
    """Return grants and charges of `user`, newest first."""
    return CreditEntry.objects.filter(owner=user).order_by("-id")


def usage_of(user: User, *, since: date, until: date) -> QuerySet[UsageEntry]:
    """Return the usage of `user` on the days from `since` up to and with `until`."""
    return UsageEntry.objects.filter(owner=user, day__gte=since, day__lte=until)


def usage_by(rows: QuerySet[UsageEntry], by: str) -> list[Used]:
    """Return `rows` added up by a name of `GROUPS`: days in their order, all else with the dearest first."""
    column = GROUPS[by]
    found = _summed(rows.order_by().values(of=F(column)))
    sums = [_used(str(row["of"]), row) for row in found]
    return sorted(sums, key=(lambda row: row.key) if by == "day" else (lambda row: (-row.cost, -row.turns, row.key)))


def usage_total(rows: QuerySet[UsageEntry]) -> Used:
    """Return all of `rows` in one sum."""
    return _used("", rows.order_by().aggregate(**_SUMS))


def usage_lines(rows: QuerySet[UsageEntry], *, most: int) -> Iterator[Used]:
    """Return `rows` by day, schedule, agent and model, oldest first, at most `most`; the keys are joined by a space."""
    parts = ("day", "schedule", "agent", "model", "kind")
    found = _summed(rows.order_by().values(*parts)).order_by(*parts)[:most]
    return (_used("\t".join(str(row[part]) for part in parts), row) for row in found)


_SUMS: dict[str, Any] = {
    "turns": Count("turn", distinct=True),
    "input": Sum("input_tokens"),
    "cached": Sum("cached_tokens"),
    "output": Sum("output_tokens"),
    "spent": Sum("cost"),
    "guessed": Count("pk", filter=Q(estimated=True)),
}


def _summed(rows: QuerySet[UsageEntry, Any]) -> QuerySet[UsageEntry, Any]:
    return rows.annotate(**_SUMS)


def _used(key: str, row: Mapping[str, Any]) -> Used:
    return Used(
        key=key,
        turns=row["turns"],
        input_tokens=row["input"] or 0,
        cached_tokens=row["cached"] or 0,
        output_tokens=row["output"] or 0,
        cost=amount(row["spent"]),
        estimated=row["guessed"] > 0,
    )
