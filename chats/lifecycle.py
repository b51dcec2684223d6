"""The only writer of `Turn.status`. Each move is one update that names where it comes from and, once leased, the fence.

Zero rows means: lost, somebody else moved it first, nothing else happens (R4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F

from chats.domain.states import TERMINAL_TURN, TurnStatus
from chats.models import Turn
from core.db import Lost, update_many


@dataclass(frozen=True)
class Fenced:
    """A turn under one lease: whoever names another fence has lost it."""

    turn_id: int
    fence: int


def lease(turn_ids: Iterable[int], *, worker: str, now: datetime, expires_at: datetime) -> list[Turn]:
    """Move queued turns to running under a new fence and return those that moved, in the order given."""
    ids = list(turn_ids)
    Turn.objects.filter(pk__in=ids, status=TurnStatus.QUEUED).update(
        status=TurnStatus.RUNNING,
        leased_by=worker,
        leased_at=now,
        lease_expires_at=expires_at,
        fence=F("fence") + 1,
    )
    moved = Turn.objects.filter(pk__in=ids, status=TurnStatus.RUNNING, leased_by=worker, leased_at=now).in_bulk()
    return [moved[pk] for pk in ids if pk in moved]


def release(held: Fenced, *, now: datetime, not_before: datetime, **columns: Any) -> bool:
    """Move a running turn back to queued (retry wait, lost worker before the call, a wait of the gate)."""
    return bool(
        Turn.objects.filter(pk=held.turn_id, fence=held.fence, status=TurnStatus.RUNNING).update(
            status=TurnStatus.QUEUED,
            queued_at=now,
            not_before=not_before,
            leased_by="",
            lease_expires_at=None,
            **columns,
        )
    )


def settle(held: Fenced, *, status: str, now: datetime, **columns: Any) -> bool:
    """Move a running turn to a terminal status, once (R2)."""
    try:
        settle_many([(held, status, columns)], now=now)
    except Lost:
        return False
    return True


def settle_many(moves: Sequence[tuple[Fenced, str, dict[str, Any]]], *, now: datetime) -> None:
    """Settle many running turns with one statement; each move is (lease, status, columns), all with the same columns.

    Raises Lost when a turn had moved: the caller's transaction is undone, and it tries one by one.
    """
    if not moves:
        return
    names = list(moves[0][2])
    rows = []
    for held, status, columns in moves:
        _terminal(status)
        values = [columns[name] for name in names]
        rows.append((status, now, "", None, *values, held.turn_id, held.fence, TurnStatus.RUNNING))
    written = update_many(
        Turn,
        ["status", "settled_at", "leased_by", "lease_expires_at", *names],
        rows,
        keys=["pk", "fence", "status"],
    )
    if written != len(rows):
        raise Lost


def settle_queued(turn_id: int, *, status: str, now: datetime, **columns: Any) -> bool:
    """Move a queued turn to a terminal status: cancelled before it started, stopped in a retry wait, or given up."""
    _terminal(status)
    return bool(
        Turn.objects.filter(pk=turn_id, status=TurnStatus.QUEUED).update(
            status=status, settled_at=now, fence=F("fence") + 1, **columns
        )
    )


def _terminal(status: str) -> None:
    if status not in TERMINAL_TURN:
        raise ValueError(f"{status} is not terminal")
