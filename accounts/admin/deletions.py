"""Deletions of accounts: how far each is, what it waits for, and the acts that carry it on or call it off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.domain.deletion import ENDED, DeletionState
from accounts.models import DeletionRequest, User
from accounts.services.deletion import deletion_cancel, deletion_hasten
from accounts.services.erasing import deletion_retry
from core.admin import ReadOnlyAdmin, act_on, stamp
from core.clock import now as clock_now
from core.errors import Refusal
from core.human import Reader

_STATES = [(str(state), str(state)) for state in DeletionState]


class StateFilter(admin.SimpleListFilter):
    """One of the states."""

    title, parameter_name = _("State"), "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return _STATES

    def queryset(self, request: HttpRequest, queryset: QuerySet[DeletionRequest]) -> QuerySet[DeletionRequest]:
        return queryset.filter(state=self.value()) if self.value() else queryset


@admin.register(DeletionRequest)
class DeletionRequestAdmin(ReadOnlyAdmin):
    """Deletion requests. People make them in their settings, operators by `manage.py delete_user`."""

    list_display = ("token", "who", "state", "age", "erased_from", "blocked_by")
    list_select_related = ("user",)
    page_select_related = ("user",)
    list_filter = (StateFilter,)
    search_fields = ("token",)
    search_ids = {"del": "token"}
    search_owner = "user"
    search_text = "token"
    ordering = ("-id",)
    fields = (
        "token", "who", "state", "asked", "erased_from", "keep_usage", "blocked_by", "erased", "examined", "ended",
    )  # fmt: skip
    noted_by_service = True
    actions = ("hasten", "cancel", "retry")
    object_actions = {"hasten": _("Hasten"), "cancel": _("Call off"), "retry": _("Try again")}

    @display(description=_("Account"))
    def who(self, obj: DeletionRequest) -> str:
        return obj.user.email if obj.user else str(_("Erased"))

    @display(description=_("Age"))
    def age(self, obj: DeletionRequest) -> str:
        return Reader(obj.ended_at or clock_now()).away(obj.requested_at)

    @display(description=_("Asked for"))
    def asked(self, obj: DeletionRequest) -> SafeString | str:
        return stamp(obj.requested_at)

    @display(description=_("Erased from"), ordering="not_before")
    def erased_from(self, obj: DeletionRequest) -> SafeString | str:
        return stamp(obj.not_before)

    @display(description=_("Last looked at"))
    def examined(self, obj: DeletionRequest) -> SafeString | str:
        return stamp(obj.examined_at)

    @display(description=_("Ended"))
    def ended(self, obj: DeletionRequest) -> SafeString | str:
        return stamp(obj.ended_at)

    @display(description=_("What blocks it"))
    def blocked_by(self, obj: DeletionRequest) -> str:
        """Say what failed last, what is waited for, or that the grace runs."""
        if obj.error:
            return _now("It failed with %(error)s") % {"error": obj.error}
        waits = obj.progress.get("waits", {})
        if waits and obj.state == DeletionState.QUIESCING:
            return ", ".join(f"{name}: {number}" for name, number in waits.items())
        return _now("Its grace runs") if obj.state == DeletionState.REQUESTED else ""

    @display(description=_("Rows erased"))
    def erased(self, obj: DeletionRequest) -> str:
        return ", ".join(f"{table}: {number}" for table, number in obj.progress.get("erased", {}).items())

    def can_act(self, obj: DeletionRequest, act: str) -> bool:
        if act == "retry":
            return obj.user is not None and (obj.state not in ENDED or bool(obj.error))
        if act == "cancel":
            return obj.state in (DeletionState.REQUESTED, DeletionState.QUIESCING)
        return obj.state == DeletionState.REQUESTED

    @admin.action(description=_("Hasten selected"), permissions=["operate"])
    def hasten(self, request: HttpRequest, queryset: QuerySet[DeletionRequest]) -> None:
        """End the grace now; the next sweep erases."""
        self._each(request, queryset, deletion_hasten, did=str(_("Hastened")))

    @admin.action(description=_("Call off selected"), permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[DeletionRequest]) -> None:
        """Keep the accounts; everything is as it was."""
        self._each(request, queryset, deletion_cancel, did=str(_("Called off")))

    @admin.action(description=_("Try selected again"), permissions=["operate"])
    def retry(self, request: HttpRequest, queryset: QuerySet[DeletionRequest]) -> None:
        """Do the next step now; one that had failed before its commit point is asked for anew."""
        by, now = _operator(request), clock_now()

        def again(row: DeletionRequest) -> bool:
            return deletion_retry(request=row, actor=by, now=now)

        act_on(self, request, queryset, again, verb="retried", did=str(_("Tried again")))

    def _each(
        self, request: HttpRequest, rows: QuerySet[DeletionRequest], act: Callable[..., Any], *, did: str
    ) -> None:
        by, now = _operator(request), clock_now()

        def done(row: DeletionRequest) -> Any:
            if row.user is None or row.state in ENDED:
                raise Refusal("deletion_missing")
            return act(user=row.user, actor=by, now=now)

        act_on(self, request, rows.select_related("user"), done, verb="acted", did=did)


def _operator(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
