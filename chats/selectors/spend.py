"""What owners have spent this month, hold in reserve and have left, in one statement: one snapshot of all three."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet, Sum, Value
from django.db.models.fields import CharField

from accounts.domain.spend import Purse, local_day, month_of
from accounts.selectors.spend import amount, credit_rows, spent_rows
from chats.domain.states import TurnStatus
from chats.models import Turn


def purses(zones: Mapping[int, str], *, but: Collection[int] = (), now: datetime) -> dict[int, Purse]:
    """Return the purse of each owner of `zones` (owner -> zone name); the turns of `but` are left out.

    A turn that settles meanwhile is either still in reserve or spent: one statement sees it once.
    """
    if not zones:
        return {}
    days = {owner: local_day(now, zone) for owner, zone in zones.items()}
    found = {owner: Purse(day) for owner, day in days.items()}
    reserved = _reserved_rows(zones, but)
    spent = spent_rows({owner: month_of(day) for owner, day in days.items()})
    for owner, what, schedule, total in reserved.union(spent, credit_rows(list(zones)), all=True):
        purse, sum_ = found[owner], amount(total)
        if what == "credit":
            purse.credit = sum_ + (purse.credit or 0)
        else:
            purse.taken[schedule] = purse.taken.get(schedule, amount(0)) + sum_
            if what == "reserved":
                purse.reserved += sum_
    for purse in found.values():
        if purse.credit is not None:
            purse.credit -= purse.reserved
    return found


def _reserved_rows(owners: Collection[int], but: Collection[int]) -> QuerySet[Turn, Any]:
    running = Turn.objects.filter(owner__in=list(owners), status=TurnStatus.RUNNING, reserved__gt=0)
    sums = running.exclude(pk__in=list(but)).values("owner_id", "billed_to").annotate(total=Sum("reserved"))
    named = sums.annotate(what=Value("reserved", CharField()), schedule=F("billed_to"))
    return named.values_list("owner_id", "what", "schedule", "total")
