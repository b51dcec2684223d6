"""Models of providers, with what their tokens cost."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from agents.admin.tombstones import DeletedFilter, WithTombstones, asker
from agents.models import ChatModel, ModelProvider
from agents.services.catalogue import model_delete, model_save
from core.admin import OperatorForm

COLUMNS = (
    "provider", "name", "label", "context_window", "price_input", "price_cached", "price_output", "enabled",
)  # fmt: skip
_PRICE = _("Per million tokens; empty where it is not known.")


class ChatModelForm(OperatorForm):
    """A model."""

    class Meta:
        model = ChatModel
        fields = COLUMNS
        labels = {"price_input": _("Price of input"), "price_cached": _("Price of cached input"),
                  "price_output": _("Price of output")}  # fmt: skip
        help_texts = {"price_input": _PRICE, "price_cached": _PRICE, "price_output": _PRICE}


@admin.register(ChatModel)
class ChatModelAdmin(WithTombstones):
    """Models."""

    form = ChatModelForm
    fields = COLUMNS
    list_display = ("name", "label", "provider", "context_window", "price_input", "price_output", "enabled")
    list_select_related = ("provider",)
    page_select_related = ("provider",)
    list_filter = (DeletedFilter, "provider", "enabled")
    search_fields = ("name",)
    search_ids = {"mdl": "public_id"}
    search_text = "name"
    ordering = ("name", "id")
    delete_warning = _("Agents on it stay, and their schedules are blocked until they get another model.")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "provider":
            kwargs["queryset"] = ModelProvider.objects.filter(deleted_at=None).order_by("name")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: ChatModel | None = None) -> Any:
        return ("provider",) if obj is not None else ()

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> ChatModel:
        data = form.cleaned_data
        values = {name: data[name] for name in COLUMNS if name in (form.changed_data if change else data)}
        return model_save(model=obj if change else None, values=values, actor=asker(request), now=now)

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        model_delete(model=obj, actor=asker(request), now=now)
