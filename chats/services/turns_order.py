"""The order in which rows of a turn are locked, in one place: owner, conversation, turn, then whatever its origin locks."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import Q

from accounts.domain.limits import Limits
from accounts.models import User
from accounts.selectors.deletions import erasing
from accounts.selectors.limits import limits_for
from chats.models import Conversation, Turn
from core.db import is_postgresql, locked, shared


def owners_hold(*, turn_ids: Iterable[int]) -> set[int]:
    """Hold the owners of these turns before all else; return those whose account is being erased.

    What a worker brings for them is discarded: under this lock it is before the erase or after it (A5).
    """
    owners = set(Turn.objects.filter(pk__in=list(turn_ids)).values_list("owner_id", flat=True))
    shared(User, owners)
    return erasing(owners) if owners else owners


def owners_hold_counting(owners: Collection[int]) -> dict[int, Limits]:
    """Hold owners whose turns are about to start, and return their limits: those whose runs a day or whose spending is
    counted one at a time, the others together.

    Two drains cannot both start the last run that a quota or a budget leaves; without one they need not wait for each
    other, and with owners that take turns each would wait for all. Who is counted is locked first by everybody.
    """
    limits = limits_for(list(owners))
    counted = {pk for pk, most in limits.items() if most.daily_runs is not None or most.monthly_spend is not None}
    spending = Q(pk__in=list(owners)) & (Q(on_credit=True) | Q(budgeted=True))
    held = {user.pk for user in locked(User.objects.filter(Q(pk__in=counted) | spending).order_by("pk")).only("pk")}
    shared(User, set(owners) - held)
    return limits


def conversations_hold(*, turn_ids: Iterable[int]) -> None:
    """Lock the conversations of these turns before the turns themselves; the caller is in a transaction.

    SQLite's IMMEDIATE transaction holds everything already.
    """
    if not is_postgresql():
        return
    conversations = Turn.objects.filter(pk__in=list(turn_ids), conversation__isnull=False).values("conversation_id")
    list(locked(Conversation.objects.filter(pk__in=conversations).order_by("pk")).only("pk"))
