"""`/api/v1/agents`."""

from __future__ import annotations

from typing import Any

from django.db.models import Q
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from agents.models import Agent
from agents.outputs import agent_out
from agents.selectors import agent_find, usable_agents
from core.api import Api, ApiRequest, found, problems
from core.paging import query_of

READ = ("schedules:read", "conversations:read", "schedules:write", "conversations:write")


class AgentShown(serializers.Serializer[Any]):
    """An agent on the wire; `tools` maps names to `always`, `ask` or `never`."""

    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    model = serializers.CharField()
    tools = serializers.DictField(child=serializers.CharField())
    state = serializers.ChoiceField(choices=["ready", "disabled", "model_unavailable"])


class Agents(Api):
    """Agents that the one who asks may use: shared ones and own ones."""

    required_scopes = {"list": READ, "retrieve": READ}
    ordering = ("name", "id")
    queryset = Agent.objects.none()
    serializer_class = AgentShown

    @extend_schema(
        parameters=[OpenApiParameter("q", str, description="In name or description.")],
        responses={200: AgentShown(many=True), **problems()},
    )
    def list(self, request: ApiRequest) -> Response:
        """List the agents that can be picked, by name."""
        text = query_of(request, "q").get("q", "")
        rows = usable_agents(request.user).filter(Q(name__icontains=text) | Q(description__icontains=text))
        return self.pages(rows, lambda page: [agent_out(agent) for agent in page])

    @extend_schema(responses={200: AgentShown, **problems(404)})
    def retrieve(self, request: ApiRequest, id: str) -> Response:
        """Read one agent, also one that is switched off."""
        return Response(agent_out(found(agent_find(request.user, id))))
