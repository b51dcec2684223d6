"""Plain dictionaries as wire.md names them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from accounts.models import User
from accounts.selectors.spend import Used
from agents.models import Agent
from agents.selectors import state_of_agent
from chats.models import Conversation, Message, Turn
from chats.selectors.conversations import conversations_of, messages_of
from chats.selectors.usage import Named, Standing, usage_rows
from core.wire import instant, pretty
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


def conversations_export(user: User) -> Iterator[tuple[str, str]]:
    """Yield each conversation twice, as JSON and to read, for `core.registry.register_exporter`."""
    for conversation in conversations_of(user).order_by("pk").iterator(chunk_size=100):
        said = [message_out(message) for message in messages_of(conversation)]
        shown = conversation_out(conversation)
        yield f"conversations/{conversation.public_id}.json", pretty({**shown, "messages": said})
        parts = [f"**{message['role']}** · {message['created_at']}\n\n{message['text']}\n" for message in said]
        yield f"conversations/{conversation.public_id}.md", "\n".join([f"# {conversation.title}\n", *parts])


def usage_export(user: User) -> Iterator[tuple[str, str]]:
    """Yield the file of what `user` has used: a row for each day, schedule, agent and model."""
    rows = usage_rows(user, since=date.min, until=date.max)
    used = [{**key, "names": names, **used_out(line)} for key, names, line in rows]
    if used:
        yield "usage.json", pretty(used)


def standing_out(standing: Standing) -> Json:
    """Return the wire shape of where a person stands this month; amounts are decimal text."""
    return {
        "month": f"{standing.month:%Y-%m}",
        "spent": amount_out(standing.spent),
        "reserved": amount_out(standing.purse.reserved),
        "most": amount_out(standing.most),
        "resumes_on": standing.resumes.isoformat(),
        "balance": amount_out(standing.balance),
    }


def used_out(used: Used) -> Json:
    """Return the figures of a sum of usage."""
    return {
        "turns": used.turns,
        "input_tokens": used.input_tokens,
        "cached_tokens": used.cached_tokens,
        "output_tokens": used.output_tokens,
        "cost": amount_out(used.cost),
        "estimated": used.estimated,
    }


def usage_out(row: Named) -> Json:
    """Return the wire shape of one row of usage; null for turns that no schedule began and for what is gone."""
    return {"key": row.used.key or None, "name": row.name or None, **used_out(row.used)}


def amount_out(amount: Decimal | None) -> str | None:
    """Return an amount as decimal text, with two places at least and no zeros beyond."""
    if amount is None:
        return None
    whole = amount.normalize()
    places = max(-int(whole.as_tuple().exponent), 2)
    return f"{amount:.{places}f}"
