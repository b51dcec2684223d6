"""Stop a turn: at once while it waits, within a second while it streams; a second stop is a no-op."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from chats import lifecycle
from chats.domain.states import TurnStatus
from chats.models import Conversation, Message, Turn
from chats.services.turns_order import conversations_hold
from chats.services.turns_settle import settled
from core.db import locked


def turn_stop(*, turn_id: int, reason: str, now: datetime) -> bool:
    """Stop the turn; return whether it was still active. `reason` is a code (`stopped_by_owner`, `replaced`, ...).

    A running one is asked to stop and settles in its worker with the text it has; a stop and a finish race, and the
    settle that comes first wins. One that never started is settled here as `stopped`, also in a retry wait. The row is
    locked before it is looked at: a lease that is taken meanwhile is waited for and then asked to stop.
    """
    with transaction.atomic():
        conversations_hold(turn_ids=[turn_id])
        turn = locked(Turn.objects.filter(pk=turn_id)).only("status", "stop_requested_at").first()
        if turn is None:
            return False
        if turn.status == TurnStatus.RUNNING:
            if turn.stop_requested_at is None:
                Turn.objects.filter(pk=turn_id).update(stop_requested_at=now, stop_reason=reason)
            return True
        if not lifecycle.settle_queued(turn_id, status=TurnStatus.STOPPED, now=now, error_code=reason):
            return False
        close_draft(turn_id, now=now)
        settled([turn_id], now=now)
        return True


def turn_cancel(*, turn_id: int, reason: str, now: datetime) -> bool:
    """Cancel a turn that has not started: the reason says to its origin whether that is a skip, a miss or a cancel."""
    with transaction.atomic():
        if not lifecycle.settle_queued(turn_id, status=TurnStatus.CANCELLED, now=now, error_code=reason):
            return False
        settled([turn_id], now=now)
        return True


def turn_give_up(*, turn_id: int, now: datetime) -> bool:
    """Settle a turn in its retry wait with the error of its last attempt."""
    with transaction.atomic():
        conversations_hold(turn_ids=[turn_id])
        if not lifecycle.settle_queued(turn_id, status=TurnStatus.FAILED, now=now):
            return False
        close_draft(turn_id, now=now)
        settled([turn_id], now=now)
        return True


def close_draft(turn_id: int, *, now: datetime) -> None:
    """Keep what the draft of a turn without a worker holds; an empty draft goes."""
    drafts = Message.objects.filter(turn_id=turn_id, role="assistant", state="streaming")
    drafts.filter(text="").delete()
    drafts.update(state="partial")
    Conversation.objects.filter(turns=turn_id).update(updated_at=now, changes=F("changes") + 1)
