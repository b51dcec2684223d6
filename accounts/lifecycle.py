"""The only writer of `DeletionRequest.state`. Each move is one update that names the states it may come from."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from accounts.domain.deletion import ENDED, DeletionState, from_states
from accounts.models import DeletionRequest


def opened(*, user_id: int, now: datetime, not_before: datetime, keep_usage: bool) -> DeletionRequest:
    """Store a new request; of two at once the second meets the index of open ones (A3)."""
    return DeletionRequest.objects.create(
        user_id=user_id, requested_at=now, not_before=not_before, keep_usage=keep_usage
    )


def failed(*, user_id: int, now: datetime, error: str) -> DeletionRequest:
    """Store a request that failed as it was asked for: it was never in force."""
    return DeletionRequest.objects.create(
        user_id=user_id,
        state=DeletionState.CANCELLED,
        requested_at=now,
        not_before=now,
        ended_at=now,
        error=error,
    )


def move(request: DeletionRequest, to: str, *, now: datetime, **columns: Any) -> bool:
    """Move the request to `to` and mirror it on the instance; false when it had moved elsewhere first."""
    if to in ENDED:
        columns["ended_at"] = now
    rows = DeletionRequest.objects.filter(pk=request.pk, state__in=from_states(to))
    if not rows.update(state=to, **columns):
        return False
    for name, value in {"state": to, **columns}.items():
        setattr(request, name, value)
    return True


def note(request: DeletionRequest, **columns: Any) -> None:
    """Write what an open request shows and when it is due (`not_before`, `progress`, `error`, `examined_at`)."""
    DeletionRequest.objects.filter(pk=request.pk).exclude(state__in=ENDED).update(**columns)
    for name, value in columns.items():
        setattr(request, name, value)
