"""Reads of conversations, always scoped to their owner (P15)."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from accounts.models import User
from chats.models import Conversation, Message, Turn
from core.registry import run_ids_of
from projects.models import ChatProject

ORIGINS = ("person", "schedule", "timer", "inbox")


def conversations_of(owner: User) -> QuerySet[Conversation]:
    """Return the owner's conversations that are not deleted, archived ones included, with project and agent."""
    rows = Conversation.objects.filter(owner=owner, deleted_at=None)
    return rows.select_related("project", "agent__model__provider")


def conversations_count(user_id: int) -> int:
    """Return how many conversations the person has, archived ones included."""
    return Conversation.objects.filter(owner=user_id, deleted_at=None).count()


def conversation_find(owner: User, public_id: str) -> Conversation | None:
    """Return the owner's conversation, or None when it is not there or somebody else's."""
    return conversations_of(owner).filter(public_id=public_id).first()


def conversations_matching(
    owner: User,
    *,
    project: ChatProject | None = None,
    loose: bool = False,
    origin: str = "",
    unread: bool | None = None,
    text: str = "",
) -> QuerySet[Conversation]:
    """Return the owner's conversations under every filter that is given; `loose` means in no project.

    `text` is looked for in titles and in everything said, whatever the case.
    """
    rows = conversations_of(owner)
    if project is not None:
        rows = rows.filter(project=project)
    if loose:
        rows = rows.filter(project=None)
    if origin:
        rows = rows.filter(origin=origin)
    if unread is not None:
        rows = rows.filter(unread=unread)
    if text:
        said = Message.objects.filter(conversation=OuterRef("pk"), text__icontains=text)
        rows = rows.filter(Q(title__icontains=text) | Exists(said))
    return rows


def messages_of(conversation: Conversation) -> QuerySet[Message]:
    """Return everything said, oldest first, without the model library's own history, which nobody is shown."""
    rows = Message.objects.filter(conversation=conversation).select_related("turn").order_by("sequence")
    return rows.defer("model_messages")


def turns_of(conversation: Conversation) -> QuerySet[Turn]:
    """Return the turns of a conversation, oldest first."""
    return Turn.objects.filter(conversation=conversation).select_related("agent").order_by("id")


def turn_find(conversation: Conversation, public_id: str) -> Turn | None:
    """Return a turn of this conversation, or None; another conversation's is not there."""
    return turns_of(conversation).filter(public_id=public_id).first()


def run_ids(turns: Collection[Turn]) -> dict[int, str]:
    """Return the public id of the run that caused each turn, by the turn's id."""
    return run_ids_of([turn.pk for turn in turns])


def counts_by_project(project_ids: Collection[int]) -> dict[int, int]:
    """Return how many conversations are filed in each project, in one query."""
    rows = Conversation.objects.filter(project__in=list(project_ids), deleted_at=None)
    return dict(rows.values_list("project_id").annotate(n=Count("pk")))


def titles_in_project(project_id: int, *, most: int = 50) -> list[str]:
    """Return the titles of the newest conversations in a project."""
    rows = Conversation.objects.filter(project_id=project_id, deleted_at=None).order_by("-updated_at", "-id")
    return list(rows.values_list("title", flat=True)[:most])
