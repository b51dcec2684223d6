"""Whose account is being deleted: the fence that everything of a person stops at (gate row 2)."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts.domain.deletion import ENDED, DeletionState
from accounts.models import DeletionRequest, User
from accounts.selectors.stops import Wait
from core.db import locked
from core.errors import Refusal
from core.registry import owned_by

logger = logging.getLogger(__name__)
RETRY_SECONDS = 5


def _apart() -> AbstractContextManager[None]:
    """Let a read that fails leave the caller's transaction usable; outside of one there is nothing to save."""
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


def open_deletions() -> QuerySet[DeletionRequest]:
    """Return the requests in force: all that have not ended, also one whose state nobody knows (A8)."""
    return DeletionRequest.objects.exclude(state__in=ENDED)


def not_deleting(owner: str = "owner_id") -> Q:
    """Return the condition that the person in the column `owner` has no deletion in force, for a query to join."""
    return Q(~Exists(open_deletions().filter(user=OuterRef(owner))))


def fenced_owners() -> list[int]:
    """Return everybody whose deletion is in force. What cannot be read raises: the caller does nothing then (A8)."""
    rows = open_deletions().filter(user__isnull=False)
    return sorted(pk for pk in rows.values_list("user_id", flat=True) if pk is not None)


def deleting(user_ids: Collection[int]) -> set[int]:
    """Return those of `user_ids` whose deletion is in force; all of them when that cannot be read (A8)."""
    ids = set(user_ids)
    if not ids:
        return ids
    try:
        with _apart():
            rows = open_deletions().filter(user__in=ids)
            return {pk for pk in rows.values_list("user_id", flat=True) if pk is not None}
    except DatabaseError:
        logger.exception("whether accounts are being deleted cannot be read: it counts as yes")
        return ids


def erasing(user_ids: Collection[int]) -> set[int]:
    """Return those of `user_ids` whose deletion has passed its commit point (A5). What cannot be read raises."""
    rows = open_deletions().exclude(state__in=(DeletionState.REQUESTED, DeletionState.QUIESCING))
    found = rows.filter(user__in=set(user_ids)).values_list("user_id", flat=True)
    return {pk for pk in found if pk is not None}


def refuse_deleting(user_id: int) -> None:
    """Raise Refusal `account_deleting` (410) while the person's deletion is in force.

    `account_state_unknown` (503) says that it cannot be read, which counts as in force (A8). Whoever writes asks under
    the lock of the person's row, so that a request that comes at the same time is before or after.
    """
    try:
        with _apart():
            up = open_deletions().filter(user=user_id).exists()
    except DatabaseError as error:
        logger.exception("whether an account is being deleted cannot be read")
        raise Refusal("account_state_unknown", retry_after=RETRY_SECONDS) from error
    if up:
        raise Refusal("account_deleting")


def owner_free(user_id: int) -> User:
    """Return the person's row, locked, for whoever writes something of theirs.

    Raises Refusal like `refuse_deleting`, also when the account was erased meanwhile.
    """
    person = locked(User.objects.filter(pk=user_id)).first()
    if person is None:
        raise Refusal("account_deleting")
    refuse_deleting(user_id)
    return person


def deletion_of(user_id: int) -> DeletionRequest | None:
    """Return the person's request in force, or None."""
    return open_deletions().filter(user=user_id).first()


def deletion_waits(user_ids: Collection[int]) -> dict[int, list[Wait]]:
    """Return by person the waits that cancelled requests have ended: lateness is asked again after each (R38)."""
    waits: dict[int, list[Wait]] = defaultdict(list)
    rows = DeletionRequest.objects.filter(user__in=set(user_ids), state=DeletionState.CANCELLED)
    for user_id, began, lifted in rows.values_list("user_id", "requested_at", "ended_at"):
        if user_id is not None and lifted is not None:
            waits[user_id].append(Wait(began, lifted))
    return dict(waits)


def deletions_due(*, now: datetime, most: int) -> list[int]:
    """Return the requests that the sweep has something to do for, least recently examined first."""
    due = open_deletions().exclude(state=DeletionState.REQUESTED, not_before__gt=now)
    rows = due.order_by(F("examined_at").asc(nulls_first=True), "pk")
    return list(rows.values_list("pk", flat=True)[:most])


def what_goes(user_id: int) -> dict[str, int]:
    """Return how many of what stops and goes with the account, by name."""
    return owned_by(user_id)
