"""Erases what was said with somebody who leaves; what their turns were leased for is over by then (A5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chats.domain.states import ACTIVE_TURN
from chats.models import Conversation, Message, Turn, TurnAttempt
from core.erasing import rows_of
from core.registry import Eraser

ERASERS: dict[str, Eraser] = {
    "chats.Conversation": rows_of(Conversation, "owner"),
    "chats.Turn": rows_of(Turn, "owner"),
    "chats.TurnAttempt": rows_of(TurnAttempt, "turn__owner"),
    "chats.Message": rows_of(Message, "conversation__owner"),
}
"""By table, what is pointed to first: it is erased last."""


def agents_used(agent_ids: Sequence[int]) -> Iterable[int]:
    """Return those of the agents that an unfinished turn is on, for `core.registry.register_agents_used`."""
    turns = Turn.objects.filter(agent__in=list(agent_ids), status__in=ACTIVE_TURN)
    return turns.values_list("agent_id", flat=True).distinct()
