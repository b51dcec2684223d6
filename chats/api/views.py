"""`/api/v1/conversations`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response

from accounts.api.creating import created
from accounts.models import User
from agents.selectors import usable_agents
from chats.api.serializers import ConversationCreate, ConversationEdit, ConversationShown, MessageShown, TurnShown
from chats.models import Conversation, Message, Turn
from chats.outputs import conversation_out, message_out, turn_out
from chats.selectors.conversations import (
    ORIGINS,
    conversation_find,
    conversations_matching,
    messages_of,
    run_ids,
    turn_find,
    turns_of,
)
from chats.services.conversations import (
    conversation_create,
    conversation_delete,
    conversation_edit,
    conversation_turn_stop,
)
from core.api import KEYED, Api, ApiRequest, edge_now, found, nothing_sent, problems
from core.errors import Refusal
from core.paging import flag_of, query_of
from core.serializers import validated
from projects.models import ChatProject
from projects.selectors import project_find

READ, WRITE = "conversations:read", "conversations:write"

FILTERS = [
    OpenApiParameter("project", str, description="The id of a project, or `none` for conversations in no project."),
    OpenApiParameter("origin", str, enum=ORIGINS),
    OpenApiParameter("unread", bool),
    OpenApiParameter("q", str, description="In the title or in anything said."),
]


class Conversations(Api):
    """Conversations of the one who asks, newest first."""

    required_scopes = {
        "list": READ,
        "retrieve": READ,
        "create": WRITE,
        "partial_update": WRITE,
        "destroy": WRITE,
    }
    ordering = ("-updated_at", "-id")
    queryset = Conversation.objects.none()
    serializer_class = ConversationShown

    @extend_schema(parameters=FILTERS, responses={200: ConversationShown(many=True), **problems()})
    def list(self, request: ApiRequest) -> Response:
        """List conversations under the filters given."""
        rows = conversations_matching(request.user, **_filters(request))
        return self.pages(rows, lambda page: [conversation_out(conversation) for conversation in page])

    @extend_schema(
        parameters=[KEYED], request=ConversationCreate, responses={201: ConversationShown, **problems(409, 410)}
    )
    def create(self, request: ApiRequest) -> Response:
        """Make an empty conversation."""
        now = edge_now()
        conversation, headers = created(
            request,
            act="conversation_create",
            reads=ConversationCreate,
            make=lambda values: conversation_create(owner=request.user, now=now, **_named(request.user, values)),
            find=lambda public_id: conversation_find(request.user, public_id),
            now=now,
        )
        return Response(conversation_out(conversation), status=201, headers=headers)

    @extend_schema(responses={200: ConversationShown, **problems(404)})
    def retrieve(self, request: ApiRequest, id: str) -> Response:
        """Read one conversation without what was said in it."""
        return Response(conversation_out(found(conversation_find(request.user, id))))

    @extend_schema(request=ConversationEdit, responses={200: ConversationShown, **problems(404)})
    def partial_update(self, request: ApiRequest, id: str) -> Response:
        """Rename, move, pin, or mark as read or unread; what is not sent stays as it is."""
        conversation = found(conversation_find(request.user, id))
        values = _named(request.user, validated(ConversationEdit, request.data))
        return Response(conversation_out(conversation_edit(conversation=conversation, values=values, now=edge_now())))

    @extend_schema(responses={204: None, **problems(404)})
    def destroy(self, request: ApiRequest, id: str) -> Response:
        """Delete the conversation with everything said; an active turn is stopped first."""
        conversation_delete(conversation=found(conversation_find(request.user, id)), now=edge_now())
        return Response(status=204)


class Messages(Api):
    """What was said in one conversation, oldest first."""

    required_scopes = {"list": READ}
    ordering = ("sequence", "id")
    queryset = Message.objects.none()
    serializer_class = MessageShown

    @extend_schema(
        operation_id="conversations_messages_list", responses={200: MessageShown(many=True), **problems(404)}
    )
    def list(self, request: ApiRequest, id: str) -> Response:
        """List messages."""
        query_of(request)
        conversation = found(conversation_find(request.user, id))
        return self.pages(messages_of(conversation), lambda page: [message_out(message) for message in page])


class Turns(Api):
    """The turns of one conversation, oldest first."""

    required_scopes = {"list": READ, "stop": WRITE}
    ordering = ("id",)
    queryset = Turn.objects.none()
    serializer_class = TurnShown

    @extend_schema(operation_id="conversations_turns_list", responses={200: TurnShown(many=True), **problems(404)})
    def list(self, request: ApiRequest, id: str) -> Response:
        """List turns."""
        query_of(request)
        return self.pages(turns_of(found(conversation_find(request.user, id))), _turns_out)

    @extend_schema(operation_id="conversations_turns_stop", request=None, responses={202: TurnShown, **problems(404)})
    def stop(self, request: ApiRequest, id: str, turn: str) -> Response:
        """Stop a turn: at once while it waits, within a second while it streams. A second stop changes nothing."""
        nothing_sent(request)
        wanted = found(turn_find(found(conversation_find(request.user, id)), turn))
        return Response(_turns_out([conversation_turn_stop(turn=wanted, now=edge_now())])[0], status=202)


def _turns_out(turns: list[Turn]) -> list[dict[str, Any]]:
    runs = run_ids(turns)
    return [turn_out(turn, run=runs.get(turn.pk)) for turn in turns]


def _filters(request: ApiRequest) -> dict[str, Any]:
    """Return the arguments of `conversations_matching` that the address names."""
    query = query_of(request, "project", "origin", "unread", "q")
    if query.get("origin", "person") not in ORIGINS:
        raise Refusal.at("origin", "choice_unknown", choices=", ".join(ORIGINS))
    named = query.get("project", "none")
    return {
        "project": None if named == "none" else _project(request.user, named),
        "loose": query.get("project") == "none",
        "origin": query.get("origin", ""),
        "unread": flag_of(query, "unread"),
        "text": query.get("q", ""),
    }


def _named(owner: User, values: dict[str, Any]) -> dict[str, Any]:
    """Return `values` with the rows that its ids name; what is not there or not the owner's is refused (P15)."""
    rows = dict(values)
    if rows.get("project") is not None:
        rows["project"] = _project(owner, rows["project"])
    if rows.get("agent") is not None:
        rows["agent"] = usable_agents(owner).filter(public_id=rows["agent"]).first()
        if rows["agent"] is None:
            raise Refusal.at("agent", "agent_not_found")
    return rows


def _project(owner: User, public_id: str) -> ChatProject:
    project = project_find(owner, public_id)
    if project is None:
        raise Refusal.at("project", "project_not_found")
    return project
