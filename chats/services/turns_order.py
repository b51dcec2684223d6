"""The order in which rows of a turn are locked, in one place: conversation, then turn, then whatever its origin locks."""

from __future__ import annotations

from collections.abc import Iterable

from chats.models import Conversation, Turn
from core.db import is_postgresql, locked


def conversations_hold(*, turn_ids: Iterable[int]) -> None:
    """Lock the conversations of these turns before the turns themselves; the caller is in a transaction.

    SQLite's IMMEDIATE transaction holds everything already.
    """
    if not is_postgresql():
        return
    conversations = Turn.objects.filter(pk__in=list(turn_ids), conversation__isnull=False).values("conversation_id")
    list(locked(Conversation.objects.filter(pk__in=conversations).order_by("pk")).only("pk"))
