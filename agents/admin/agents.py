"""Agents: instructions on a model, shared by all or somebody's own."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from agents.admin.tombstones import DeletedFilter, WithTombstones, asker
from agents.models import Agent, ChatModel
from agents.selectors import state_of_agent
from agents.services.catalogue import agent_delete, agent_save
from agents.services.trying import agent_try
from core.admin import OperatorForm, stamp, tag, text_block
from core.clock import now as clock_now

COLUMNS = (
    "name", "description", "owner", "model", "instructions", "temperature", "max_output_tokens", "deadline_seconds",
    "tools", "enabled",
)  # fmt: skip
_STATES = {
    "ready": _("Ready"),
    "disabled": _("Switched off"),
    "model_unavailable": _("Model switched off"),
    "deleted": _("Deleted"),
}


class AgentForm(OperatorForm):
    """An agent."""

    class Meta:
        model = Agent
        fields = COLUMNS
        labels = {"max_output_tokens": _("Output tokens at most"), "deadline_seconds": _("Deadline (s)")}
        help_texts = {
            "owner": _("Empty: all may use it."),
            "deadline_seconds": _("Empty: ten minutes. A schedule may set its own."),
            "temperature": _("Empty: the model’s own."),
        }


@admin.register(Agent)
class AgentAdmin(WithTombstones):
    """Agents."""

    form = AgentForm
    list_display = ("__str__", "owned_by", "model", "state")
    list_select_related = ("owner", "model__provider")
    page_select_related = ("owner", "model__provider")
    list_filter = (DeletedFilter, "enabled")
    search_fields = ("name",)
    search_ids = {"agt": "public_id"}
    search_owner = "owner"
    search_text = "name"
    ordering = ("name", "id")
    autocomplete_fields = ("owner",)
    readonly_fields = ("public_id", "made", "its_tools")
    actions = ("try_it",)
    object_actions = {"try_it": _("Test")}
    delete_warning = _("Schedules that use it are blocked at their next run until they get another agent.")

    @display(description=_("Owner"), ordering="owner")
    def owned_by(self, obj: Agent) -> str:
        return str(obj.owner) if obj.owner else str(_("All"))

    @display(description=_("State"))
    def state(self, obj: Agent) -> SafeString | str:
        word = state_of_agent(obj)
        return tag(_STATES[word], word)

    def get_fields(self, request: HttpRequest, obj: Agent | None = None) -> Any:
        """Who may only look gets the tools as text."""
        editable = self.has_change_permission(request, obj) if obj else True
        columns = COLUMNS if editable else tuple("its_tools" if name == "tools" else name for name in COLUMNS)
        return columns if obj is None else (*columns, "public_id", "made")

    @display(description=_("Tools"))
    def its_tools(self, obj: Agent) -> SafeString | str:
        return text_block(json.dumps(obj.tools, indent=1, ensure_ascii=False) if obj.tools else "")

    @display(description=_("Made"))
    def made(self, obj: Agent) -> SafeString | str:
        return stamp(obj.created_at)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Offer the models that can be asked, and the one that is set already."""
        if db_field.name == "model":
            match = request.resolver_match
            pk = match.kwargs.get("object_id") if match else None
            live = Q(deleted_at=None, provider__deleted_at=None)
            chosen = Q(agents=pk) if pk and str(pk).isdigit() else Q()
            models = ChatModel.objects.filter(live | chosen if chosen else live)
            kwargs["queryset"] = models.select_related("provider").distinct().order_by("name")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> Agent:
        data = form.cleaned_data
        values = {name: data[name] for name in COLUMNS if name in (form.changed_data if change else data)}
        if values.get("tools", {}) is None:
            values["tools"] = {}
        return agent_save(agent=obj if change else None, values=values, actor=asker(request), now=now)

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        agent_delete(agent=obj, actor=asker(request), now=now)

    @admin.action(description=_("Test selected agents"), permissions=["change"])
    def try_it(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        """Ask each agent one short question."""
        for agent in queryset.select_related("model__provider")[:5]:
            self.note(request, "tried", agent)
            self.say_tried(request, agent.name, agent_try(agent=agent, now=clock_now()))
