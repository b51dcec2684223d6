"""What pages show of conversations: lists with the beginning of the last answer, and what a thread needs."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Length, Substr

from accounts.models import User
from chats.domain.states import ACTIVE_TURN
from chats.models import Conversation, Message, Turn
from chats.selectors.conversations import conversations_matching, messages_of, turns_of
from projects.models import ChatProject

PAGE_SIZE = 30
_BEGINNING = 600


@dataclass(frozen=True)
class Thread:
    """One conversation as it stands: everything said, its turns by id, and the turn that is active, if one is."""

    messages: list[Message]
    turns: dict[int, Turn]
    active: Turn | None


@dataclass(frozen=True)
class ThreadFacts:
    """What can be told of a thread without reading it: its newest turn, and its newest message by its length."""

    turn: Turn | None
    message: tuple[int, str, int, int] | None

    @property
    def active(self) -> Turn | None:
        """Return the turn that is active: a conversation has one at most, and it is the newest."""
        return self.turn if self.turn is not None and self.turn.status in ACTIVE_TURN else None


def conversations_page(
    owner: User, *, text: str = "", project: ChatProject | None = None, before: str = "", most: int = PAGE_SIZE
) -> tuple[list[Conversation], bool]:
    """Return one page of conversations, newest first, each with `said` (the beginning of its last answer).

    `before` is the id of the conversation after which the page begins; the second value says whether more follow.
    """
    rows = with_last_answer(conversations_matching(owner, text=text, project=project))
    last = rows.filter(public_id=before).first() if before else None
    if last is not None:
        older = Q(updated_at=last.updated_at, pk__lt=last.pk) | Q(updated_at__lt=last.updated_at)
        rows = rows.filter(older)
    found = list(rows.order_by("-updated_at", "-pk")[: most + 1])
    return found[:most], len(found) > most


def with_last_answer(rows: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """Add `said`, `said_state` and `said_source` of the newest answer of each conversation."""
    answers = Message.objects.filter(conversation=OuterRef("pk"), role="assistant").order_by("-sequence")
    return rows.annotate(
        said=Subquery(answers.values(part=Substr("text", 1, _BEGINNING))[:1]),
        said_state=Subquery(answers.values("state")[:1]),
        said_source=Subquery(answers.values("source")[:1]),
        turn_status=Subquery(Turn.objects.filter(conversation=OuterRef("pk")).order_by("-pk").values("status")[:1]),
    )


def thread_of(conversation: Conversation) -> Thread:
    """Return everything said in the conversation and its turns, in two queries."""
    turns = list(turns_of(conversation))
    active = next((turn for turn in turns if turn.status in ACTIVE_TURN), None)
    return Thread(messages=list(messages_of(conversation)), turns={turn.pk: turn for turn in turns}, active=active)


def thread_facts(conversation: Conversation) -> ThreadFacts:
    """Return what shows whether a thread grew, in two queries of one row each, however long it is."""
    turns = Turn.objects.filter(conversation=conversation).order_by("-pk")
    newest = Message.objects.filter(conversation=conversation).order_by("-sequence")
    said = newest.values_list("pk", "state", "fence", Length("text")).first()
    return ThreadFacts(turn=turns.first(), message=said)
