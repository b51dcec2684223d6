"""What an owner does with conversations.

Lock order: owner, project, conversation, turn, then what the turn's origin locks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from accounts.models import User
from accounts.selectors.deletions import owner_free
from accounts.services.idempotency import made_gone
from agents.models import Agent
from chats.domain.states import ACTIVE_TURN, TurnStatus
from chats.models import Conversation, Message, Turn
from chats.services.turns_settle import Ended, turns_settle
from chats.services.turns_stop import turn_stop
from core.db import locked
from core.errors import Refusal
from core.text import graphemes, has_nul, tidy
from projects.models import ChatProject

MOST_TITLE = 200
MOST_TITLE_STORED = 1000


def conversation_create(
    *,
    owner: User,
    title: str,
    agent: Agent | None = None,
    project: ChatProject | None = None,
    now: datetime,
) -> Conversation:
    """Make an empty conversation of a person. Raises Refusal at `title` or `project`."""
    title = _title(title)
    with transaction.atomic():
        owner_free(owner.pk)  # before the project, as everybody locks; reading and deleting stay possible
        return Conversation.objects.create(
            owner=owner,
            title=title,
            agent=agent,
            project=_pickable(owner, _project_locked(project)),
            origin="person",
            created_at=now,
            updated_at=now,
        )


def conversation_edit(*, conversation: Conversation, values: Mapping[str, Any], now: datetime) -> Conversation:
    """Change any of `title`, `project` (a ChatProject or None), `pinned`, `unread`; other columns stay untouched.

    An edit that changes nothing writes nothing; marking as read or pinning does not make a conversation newer. Raises
    Refusal `required`, `too_long`, `project_not_found` at the field, `not_found` when it was deleted meanwhile.
    """
    wanted = dict(values)
    if "title" in wanted:
        wanted["title"] = _title(wanted["title"])
    with transaction.atomic():
        if wanted.keys() - {"unread"}:
            owner_free(conversation.owner_id)
        if "project" in wanted:
            wanted["project"] = _project_locked(wanted["project"])
        current = _locked(conversation)
        if "project" in wanted and wanted["project"] != current.project:
            wanted["project"] = _pickable(current.owner, wanted["project"])
        changed = {name: value for name, value in wanted.items() if getattr(current, name) != value}
        if changed:
            if changed.keys() & {"title", "project"}:
                changed["updated_at"] = now
            Conversation.objects.filter(pk=current.pk).update(**changed, changes=F("changes") + 1)
            for name, value in changed.items():
                setattr(current, name, value)
        return current


def conversation_rename(*, conversation: Conversation, title: str, now: datetime) -> Conversation:
    """Give the conversation another title."""
    return conversation_edit(conversation=conversation, values={"title": title}, now=now)


def conversation_move(*, conversation: Conversation, project: ChatProject | None, now: datetime) -> Conversation:
    """File the conversation in a project of its owner, or in none."""
    return conversation_edit(conversation=conversation, values={"project": project}, now=now)


def conversation_read(*, conversation: Conversation, now: datetime) -> Conversation:
    """Note that an open page has shown it."""
    return conversation_edit(conversation=conversation, values={"unread": False}, now=now)


def conversation_delete(*, conversation: Conversation, now: datetime) -> None:
    """Erase everything said and leave a content-free tombstone for what points to it.

    The active turn is settled first, as `stopped: conversation_deleted`, so that its worker loses the lease and
    writes nothing afterwards (M8). Turns and attempts stay: they hold figures and codes, and the ledger needs them.
    """
    with transaction.atomic():
        locked(User.objects.filter(pk=conversation.owner_id)).only("pk").first()  # a settle locks owners first
        current = _locked(conversation)
        _end_active_turns(current, now)
        Message.objects.filter(conversation=current).delete()
        Conversation.objects.filter(pk=current.pk).update(
            title="",
            project=None,
            agent=None,
            unread=False,
            pinned=False,
            deleted_at=now,
            updated_at=now,
            changes=F("changes") + 1,
        )
        made_gone(made=[current.public_id], now=now)


def conversation_turn_stop(*, turn: Turn, now: datetime) -> Turn:
    """Stop a turn for its owner: at once while it waits, within a second while it streams; twice is as once."""
    turn_stop(turn_id=turn.pk, reason="stopped_by_owner", now=now)
    turn.refresh_from_db()
    return turn


def conversations_unfile(*, project_id: int, now: datetime) -> int:
    """Make every conversation of a project loose; returns how many."""
    rows = Conversation.objects.filter(project_id=project_id)
    return rows.update(project=None, changes=F("changes") + 1)


def _end_active_turns(conversation: Conversation, now: datetime) -> None:
    for turn in Turn.objects.filter(conversation=conversation, status__in=ACTIVE_TURN).order_by("pk"):
        if turn.status == TurnStatus.RUNNING:
            end = Ended(turn.pk, turn.fence, "stopped", "", code="conversation_deleted")
            turns_settle(ends=[end], now=now)
        else:
            turn_stop(turn_id=turn.pk, reason="conversation_deleted", now=now)


def _locked(conversation: Conversation) -> Conversation:
    rows = Conversation.objects.filter(pk=conversation.pk, deleted_at=None).select_related(
        "owner", "project", "agent__model__provider"
    )
    current = locked(rows).first()
    if current is None:
        raise Refusal("not_found")
    return current


def _title(title: str) -> str:
    text = tidy(title)
    if not text:
        raise Refusal.at("title", "required")
    if has_nul(text):
        raise Refusal.at("title", "wrong_type", expected="text without NUL characters")
    if len(text) > MOST_TITLE and (graphemes(text) > MOST_TITLE or len(text) > MOST_TITLE_STORED):
        raise Refusal.at("title", "too_long", actual=graphemes(text), most=MOST_TITLE)
    return text


def _project_locked(project: ChatProject | None) -> ChatProject | None:
    """Return the project as it is now, locked, so that it is not deleted before the write. Raises Refusal (P15)."""
    if project is None:
        return None
    current = locked(ChatProject.objects.filter(pk=project.pk, deleted_at=None)).first()
    if current is None:
        raise Refusal.at("project", "project_not_found")
    return current


def _pickable(owner: User, project: ChatProject | None) -> ChatProject | None:
    """Return `project` when `owner` may file into it now (P2), else refuse it as not there (P15)."""
    if project is None:
        return None
    if project.owner_id != owner.pk or project.archived_at is not None:
        raise Refusal.at("project", "project_not_found")
    return project
