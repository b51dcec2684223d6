"""Providers. The key is written here and shown nowhere."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldBooleanSwitchWidget

from agents.admin.tombstones import DeletedFilter, WithTombstones, asker
from agents.models import ModelProvider
from agents.services.catalogue import provider_delete, provider_save
from agents.services.trying import provider_try
from core.admin import OperatorForm, link, shown_link, stamp
from core.clock import now as clock_now
from core.errors import Refusal

COLUMNS = ("kind", "name", "base_url", "key_env", "requests_per_minute", "tokens_per_minute", "enabled")


class ProviderForm(OperatorForm):
    """A provider. What is typed as key is sealed; an empty field keeps the key that is stored."""

    key = forms.CharField(
        label=_("Key"),
        required=False,
        max_length=2000,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )
    clear_key = forms.BooleanField(label=_("Remove the stored key"), required=False, widget=UnfoldBooleanSwitchWidget())

    class Meta:
        model = ModelProvider
        fields = COLUMNS
        labels = {"base_url": _("Address"), "key_env": _("Key from variable")}
        help_texts = {
            "base_url": _("As far as /v1, for instance https://api.example.com/v1. Needed for OpenAI-compatible ones."),
            "key_env": _("Name of an environment variable that holds the key, instead of storing it."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        stored = bool(self.instance.key_encrypted)
        if "key" in self.fields:
            self.fields["key"].help_text = (
                _("A key is stored. It is never shown; a new one replaces it, empty keeps it.")
                if stored
                else _("Stored encrypted, never shown again.")
            )
        if not stored:
            self.fields.pop("clear_key", None)


@admin.register(ModelProvider)
class ModelProviderAdmin(WithTombstones):
    """Endpoints with a key."""

    form = ProviderForm
    list_display = ("name", "kind", "base_url", "key_state", "enabled")
    list_filter = (DeletedFilter, "kind", "enabled")
    search_fields = ("name",)
    search_ids = {"prv": "public_id"}
    search_text = "name"
    ordering = ("name", "id")
    actions = ("try_it",)
    object_actions = {"try_it": _("Test")}
    readonly_fields = ("its_models", "public_id", "made", "deleted", "key_state")
    delete_warning = _(
        "Its key is erased and its models go with it. Agents on them stay, and their schedules are blocked at their "
        "next run until they get another model."
    )

    @display(description=_("Key"))
    def key_state(self, obj: ModelProvider) -> str:
        """Say where the key comes from, nothing of what it is."""
        if obj.key_env:
            return str(_("From %(name)s")) % {"name": obj.key_env}
        return str(_("Stored")) if obj.key_encrypted else str(_("None"))

    @display(description=_("Made"))
    def made(self, obj: ModelProvider) -> SafeString | str:
        return stamp(obj.created_at)

    @display(description=_("Deleted"))
    def deleted(self, obj: ModelProvider) -> SafeString | str:
        return stamp(obj.deleted_at)

    @display(description=_("Models"))
    def its_models(self, obj: ModelProvider) -> SafeString:
        """Link to the provider's models, and to the form that adds one."""
        models = obj.models.filter(deleted_at=None).order_by("name")[:100]
        listed = format_html_join(", ", "{}", ((shown_link(model, model.name),) for model in models))
        add = link(f"{reverse('admin:agents_chatmodel_add')}?provider={obj.pk}", _("Add a model"))
        return format_html("{} · {}", listed, add) if listed else add

    def get_fields(self, request: HttpRequest, obj: ModelProvider | None = None) -> Any:
        if obj is None:
            return ("kind", "name", "base_url", "key", "key_env", "requests_per_minute", "tokens_per_minute", "enabled")
        if obj.deleted_at is not None:
            return ("kind", "name", "base_url", "key_state", "its_models", "public_id", "made", "deleted")
        clear = ("clear_key",) if obj.key_encrypted else ()
        limits = ("requests_per_minute", "tokens_per_minute")
        head = ("kind", "name", "its_models", "base_url", "key")
        return (*head, *clear, "key_env", *limits, "enabled", "public_id", "made")

    def get_readonly_fields(self, request: HttpRequest, obj: ModelProvider | None = None) -> Any:
        kind = ("kind",) if obj is not None else ()
        return (*super().get_readonly_fields(request, obj), *kind)

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> ModelProvider:
        data = form.cleaned_data
        values = {name: data[name] for name in COLUMNS if name in (form.changed_data if change else data)}
        key = data.get("key") or ("" if data.get("clear_key") else None)
        return provider_save(provider=obj if change else None, values=values, key=key, actor=asker(request), now=now)

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        provider_delete(provider=obj, actor=asker(request), now=now)

    @admin.action(description=_("Test selected providers"), permissions=["change"])
    def try_it(self, request: HttpRequest, queryset: QuerySet[ModelProvider]) -> None:
        """Ask each provider's first model one short question."""
        for provider in queryset[:5]:
            self.note(request, "tried", provider)
            try:
                self.say_tried(request, provider.name, provider_try(provider=provider, now=clock_now()))
            except Refusal:
                self.message_user(request, _("%(name)s has no model yet.") % {"name": provider.name}, "WARNING")
