"""Stops the turns of somebody whose account is being deleted; registered with `core.registry` at start-up."""

from __future__ import annotations

from datetime import datetime

from chats.domain.states import TurnStatus
from chats.models import Turn
from chats.services.turns_stop import turn_stop


class TurnWork:
    """The room `turns` of `core.registry.AccountWork`."""

    def suspend(self, user_id: int, *, now: datetime) -> int:
        """Ask what runs to stop (`stopped: account_deleting`). What is queued stays, and what was leased this instant
        goes back by itself: it is started under the lock that the caller holds, and finds the fence up (A4).
        """
        running = Turn.objects.filter(
            owner=user_id, status=TurnStatus.RUNNING, started_at__isnull=False, stop_requested_at=None
        )
        ids = list(running.order_by("conversation_id", "pk").values_list("pk", flat=True))
        return sum(turn_stop(turn_id=pk, reason="account_deleting", now=now) for pk in ids)

    def working(self, user_id: int, *, now: datetime) -> int:
        """Count live leases; one that ran out is healed by recovery, or loses to the erase."""
        leased = Turn.objects.filter(owner=user_id, status=TurnStatus.RUNNING, lease_expires_at__gte=now)
        return leased.count()


def running_turns(user_id: int) -> int:
    """Return how many turns of the person run now."""
    return Turn.objects.filter(owner=user_id, status=TurnStatus.RUNNING).count()
