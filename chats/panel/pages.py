"""Conversations as their templates show them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from agents.models import ProviderKind
from chats.domain.states import ACTIVE_TURN, TurnStatus
from chats.models import Conversation, Message, Turn
from chats.selectors.reading import Thread, ThreadFacts
from core.human import Reader, duration, say, version
from core.markdown import first_line, render

View = dict[str, Any]

_MARKS = {
    TurnStatus.COMPLETED: "succeeded",
    TurnStatus.FAILED: "failed",
    TurnStatus.STOPPED: "stopped",
    TurnStatus.EXPIRED: "expired",
    TurnStatus.CANCELLED: "cancelled",
    TurnStatus.RUNNING: "running",
    TurnStatus.QUEUED: "queued",
    TurnStatus.NEEDS_APPROVAL: "needs_approval",
}
_LOOK_ACTIVE, _LOOK_IDLE = 1, 5
_TELLS_TIME = 5
"""Seconds after which the time that an answer takes is shown anew though no text came."""
_END = re.compile(r"((?:</[a-z0-9]+>\s*)*)$")


def source_label(source: dict[str, Any]) -> str:
    """Return the label of an answer that no added provider gave: "demo", "small local model", or nothing."""
    kind = source.get("kind")
    if kind == ProviderKind.DEMO:
        return _("demo")
    return _("small local model") if kind == ProviderKind.LOCAL else ""


def list_view(conversations: Iterable[Conversation], reader: Reader) -> list[View]:
    """Return rows of a list of conversations. Load them with `selectors.reading.with_last_answer`."""
    return [_row(conversation, reader) for conversation in conversations]


def _row(conversation: Conversation, reader: Reader) -> View:
    status = getattr(conversation, "turn_status", None) or ""
    said = getattr(conversation, "said", None) or ""
    project = conversation.project
    return {
        "id": conversation.public_id,
        "title": conversation.title,
        "unread": conversation.unread,
        "s": _MARKS.get(TurnStatus(status), "armed") if status else "armed",
        "said": first_line(said, 240) or (_("No answer yet") if status in ACTIVE_TURN else _("No answer")),
        "label": source_label(getattr(conversation, "said_source", None) or {}),
        "at": reader.stamp(conversation.updated_at),
        "project": {"name": project.name, "colour": project.colour} if project and not project.deleted_at else None,
    }


def thread_version(conversation: Conversation, facts: ThreadFacts, reader: Reader) -> tuple[str, int]:
    """Return the version of a conversation's page and when to look again, from facts alone: nothing is rendered.

    Two pages of one version look the same, but for the seconds that an answer takes already.
    """
    turn, project = facts.turn, conversation.project
    shown: list[Any] = [conversation.changes, conversation.title, facts.message]
    shown += [project.pk, project.name, project.colour, project.deleted_at] if project else [None]
    shown += [reader.zone, reader.clock, reader.today.date(), get_language()]
    if turn is not None:
        shown += [turn.pk, turn.status, turn.error_code, turn.stop_requested_at, turn.not_before]
    if facts.active is not None:
        shown.append((reader.now - (facts.active.started_at or facts.active.queued_at)).total_seconds() // _TELLS_TIME)
    return version(shown), _LOOK_ACTIVE if facts.active else _LOOK_IDLE


def thread_view(conversation: Conversation, thread: Thread, reader: Reader) -> View:
    """Return everything a conversation's page shows; `thread_version` says when it changes."""
    active = thread.active
    project = conversation.project if conversation.project and not conversation.project.deleted_at else None
    return {
        "id": conversation.public_id,
        "title": conversation.title,
        "project": {"name": project.name, "id": project.public_id, "colour": project.colour} if project else None,
        "s": _MARKS[TurnStatus(active.status)] if active else _last_mark(thread),
        "turn": active.public_id if active else "",
        "stopping": bool(active and active.stop_requested_at),
        "entries": _entries(conversation, thread, reader),
    }


def _last_mark(thread: Thread) -> str:
    last = max(thread.turns, default=None)
    return _MARKS[TurnStatus(thread.turns[last].status)] if last is not None else "armed"


def _entries(conversation: Conversation, thread: Thread, reader: Reader) -> list[View]:
    """Return messages in order, each turn's end noted after its last message when it is not a plain answer."""
    entries, last = [], {message.turn_id: message.pk for message in thread.messages}
    for message in thread.messages:
        turn = thread.turns.get(message.turn_id or 0)
        entries.append(_message(conversation, message, turn, reader))
        if turn is not None and last[turn.pk] == message.pk:
            entries += _note(turn, reader)
    return [entry | {"v": version(entry)} for entry in entries]


def _message(conversation: Conversation, message: Message, turn: Turn | None, reader: Reader) -> View:
    streaming = message.state == "streaming"
    mine = message.role == "user"
    return {
        "kind": "message",
        "id": message.public_id,
        "mine": mine,
        "who": _speaker(conversation, message, turn) if mine else message.source.get("agent") or _("Assistant"),
        "label": "" if mine else source_label(message.source),
        "model": "" if mine else message.source.get("model", ""),
        "at": reader.stamp(message.created_at),
        "html": _html(message.text, growing=streaming),
        "busy": streaming,
        "partial": message.state == "partial",
        "since": _since(turn, reader) if streaming and turn is not None else "",
    }


def _speaker(conversation: Conversation, message: Message, turn: Turn | None) -> str:
    origin = turn.origin if turn is not None else conversation.origin
    return _("Schedule") if origin == "schedule" else message.source.get("name") or _("You")


def _since(turn: Turn, reader: Reader) -> str:
    return duration((reader.now - (turn.started_at or turn.queued_at)).total_seconds())


def _html(text: str, *, growing: bool) -> str:
    """Return the sanitised HTML; a text that still grows ends in a caret."""
    html = render(text).rstrip()
    return _END.sub(r'<span class="caret"></span>\1', html, count=1) if growing else html


def _note(turn: Turn, reader: Reader) -> list[View]:
    """Return what became of a turn that did not simply answer, as one sentence."""
    code = turn.error_code or ("output_limit" if turn.output_cut else "")
    if turn.status == TurnStatus.QUEUED:
        text = say(code) + " " if code else ""
        text += _("Tries again at %(at)s.") % {"at": reader.at(turn.not_before)}
    elif turn.status == TurnStatus.RUNNING or not code:
        return []
    else:
        text = say(code, turn.error_params)
    mark = "empty" if code == "empty_answer" else _MARKS[TurnStatus(turn.status)]
    return [{"kind": "note", "id": f"n-{turn.public_id}", "s": mark, "code": code, "text": text}]
