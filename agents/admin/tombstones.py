"""Rows that were deleted but are still pointed to: hidden from lists unless they are asked for."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from agents.services.trying import Tried
from core.admin import OperatorAdmin


class DeletedFilter(admin.SimpleListFilter):
    """Live rows by default; tombstones when asked for."""

    title = _("deleted")
    parameter_name = "deleted"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Deleted ones"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(deleted_at__isnull=self.value() != "yes")


def asker(request: HttpRequest) -> User | None:
    """Return the operator who asks."""
    return request.user if isinstance(request.user, User) else None


class WithTombstones(OperatorAdmin):
    """A tombstone can be looked at, and nothing more."""

    deletable = True
    noted_by_service = True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        gone = obj is not None and obj.deleted_at is not None
        return not gone and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        gone = obj is not None and obj.deleted_at is not None
        return not gone and super().has_delete_permission(request, obj)

    def say_tried(self, request: HttpRequest, name: str, tried: Tried) -> None:
        """Say how a try of a model went."""
        words = {"name": name, "seconds": f"{tried.seconds:.1f}", "text": tried.text}
        if tried.answered:
            self.message_user(request, _("%(name)s answered in %(seconds)s s: %(text)s") % words, messages.SUCCESS)
        else:
            self.message_user(request, _("%(name)s gave no answer: %(text)s") % words, messages.ERROR)
