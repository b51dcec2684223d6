"""Plain dictionaries as wire.md names them."""

from __future__ import annotations

from typing import Any

from agents.models import Agent
from agents.selectors import state_of_agent
from chats.models import Conversation, Message, Turn
from core.wire import instant
from projects.models import ChatProject

Json = dict[str, Any]


def conversation_out(conversation: Conversation) -> Json:
    """Return the wire shape of a conversation. Load it with `selectors.conversations.conversations_of`."""
    return {
        "id": conversation.public_id,
        "title": conversation.title,
        "project": _project(conversation.project),
        "agent": _agent(conversation.agent),
        "origin": conversation.origin,
        "unread": conversation.unread,
        "pinned": conversation.pinned,
        "archived": conversation.archived_at is not None,
        "created_at": instant(conversation.created_at),
        "updated_at": instant(conversation.updated_at),
    }


def message_out(message: Message) -> Json:
    """Return the wire shape of a message; load its turn with it."""
    return {
        "id": message.public_id,
        "sequence": message.sequence,
        "turn": message.turn.public_id if message.turn else None,
        "role": message.role,
        "text": message.text,
        "parts": message.parts,
        "source": message.source,
        "state": message.state,
        "created_at": instant(message.created_at),
    }


def turn_out(turn: Turn, *, run: str | None) -> Json:
    """Return the wire shape of a turn; `run` is the public id of the run that caused it, if one did."""
    return {
        "id": turn.public_id,
        "origin": turn.origin,
        "run": run,
        "status": turn.status,
        "code": turn.error_code or None,
        "started_at": instant(turn.started_at),
        "settled_at": instant(turn.settled_at),
    }


def _project(project: ChatProject | None) -> Json | None:
    if project is None or project.deleted_at is not None:
        return None
    return {"id": project.public_id, "name": project.name}


def _agent(agent: Agent | None) -> Json | None:
    return {"id": agent.public_id, "name": agent.name, "state": state_of_agent(agent)} if agent else None
