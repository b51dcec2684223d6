"""Projects of people: to look at, to put away, to delete with what the owner would be asked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from core.admin import ReadOnlyAdmin, act_on, stamp, text_block
from core.clock import now as clock_now
from projects.models import ChatProject
from projects.selectors import filed_counts
from projects.services import project_archive, project_delete


class StateFilter(admin.SimpleListFilter):
    """Live projects by default."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("archived", _("Archived")), ("deleted", _("Deleted"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "deleted":
            return queryset.exclude(deleted_at=None)
        live = queryset.filter(deleted_at=None)
        return live.exclude(archived_at=None) if self.value() == "archived" else live


@admin.register(ChatProject)
class ChatProjectAdmin(ReadOnlyAdmin):
    """Projects of everybody."""

    list_display = ("__str__", "owner", "made", "archived")
    list_select_related = ("owner",)
    page_select_related = ("owner",)
    audited = ("archived_at", "deleted_at")
    list_filter = (StateFilter,)
    search_fields = ("public_id",)
    search_ids = {"prj": "public_id"}
    search_owner = "owner"
    search_text = "name"
    ordering = ("-id",)
    actions = ("archive", "bring_back")
    object_actions = {"archive": _("Archive"), "bring_back": _("Bring back")}
    fields = ("called", "owner", "about", "public_id", "filed", "made", "changed", "archived", "deleted")
    deletable = True
    delete_warning = _(
        "Its conversations stay, loose. Schedules that file into it are blocked at their next run until their owner "
        "chooses another project."
    )

    @display(description=_("Name"))
    def called(self, obj: ChatProject) -> str:
        return str(obj)

    @display(description=_("Description"))
    def about(self, obj: ChatProject) -> SafeString | str:
        return text_block(obj.description)

    @display(description=_("Made"))
    def made(self, obj: ChatProject) -> SafeString | str:
        return stamp(obj.created_at)

    @display(description=_("Changed"))
    def changed(self, obj: ChatProject) -> SafeString | str:
        return stamp(obj.updated_at)

    @display(description=_("Archived"))
    def archived(self, obj: ChatProject) -> SafeString | str:
        return stamp(obj.archived_at)

    @display(description=_("Deleted"))
    def deleted(self, obj: ChatProject) -> SafeString | str:
        return stamp(obj.deleted_at)

    @display(description=_("Filed in it"))
    def filed(self, obj: ChatProject) -> str:
        counts = filed_counts([obj.pk])[obj.pk]
        return ", ".join(f"{number:,} {noun}" for noun, number in counts.items()) or str(_("Nothing"))

    @admin.action(description=_("Archive selected projects"), permissions=["operate"])
    def archive(self, request: HttpRequest, queryset: QuerySet[ChatProject]) -> None:
        """Hide them from pickers; their schedules keep running."""
        now = clock_now()
        did = str(_("Archived"))
        act_on(
            self,
            request,
            queryset,
            lambda row: project_archive(project=row, archived=True, now=now),
            verb="archived",
            did=did,
        )

    @admin.action(description=_("Bring selected projects back"), permissions=["operate"])
    def bring_back(self, request: HttpRequest, queryset: QuerySet[ChatProject]) -> None:
        """Show them in pickers again."""
        now = clock_now()
        did = str(_("Brought back"))
        act_on(
            self,
            request,
            queryset,
            lambda row: project_archive(project=row, archived=False, now=now),
            verb="brought_back",
            did=did,
        )

    def can_act(self, obj: ChatProject, act: str) -> bool:
        return obj.deleted_at is None and (obj.archived_at is None) == (act == "archive")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        gone = obj is not None and obj.deleted_at is not None
        return not gone and super().has_delete_permission(request, obj)

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        project_delete(project=obj, now=now)
