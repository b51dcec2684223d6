"""Turns with their attempts: who holds the lease, what the provider said, what it took."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display

from chats.domain.states import ACTIVE_TURN, TurnStatus
from chats.models import Turn, TurnAttempt
from chats.queue import hint_drain
from chats.services.turns_stop import turn_stop
from core.admin import ReadOnlyAdmin, act_on, link, stamp, tag
from core.admin.acting import MOST_AT_ONCE
from core.clock import now as clock_now
from core.human import say
from core.registry import run_ids_of

_STATUSES = {
    "queued": _("Queued"), "running": _("Running"), "needs_approval": _("Needs approval"), "completed": _("Completed"),
    "failed": _("Failed"), "stopped": _("Stopped"), "expired": _("Expired"), "cancelled": _("Cancelled"),
}  # fmt: skip


class AttemptInline(TabularInline):
    """Every try at the model call, in order."""

    model = TurnAttempt
    fields = ("number", "began", "dispatched", "ended", "outcome", "why", "certainty", "retryable", "tokens")
    readonly_fields = fields
    extra = 0
    can_delete = False
    hide_title = True
    verbose_name_plural = _("Attempts")

    @display(description=_("Began"))
    def began(self, obj: TurnAttempt) -> SafeString | str:
        return stamp(obj.started_at)

    @display(description=_("Sent"))
    def dispatched(self, obj: TurnAttempt) -> SafeString | str:
        return stamp(obj.dispatched_at)

    @display(description=_("Ended"))
    def ended(self, obj: TurnAttempt) -> SafeString | str:
        return stamp(obj.ended_at)

    @display(description=_("Why"))
    def why(self, obj: TurnAttempt) -> str:
        return " ".join(part for part in (say(obj.error_code) if obj.error_code else "", obj.error_text) if part)

    @display(description=_("Tokens in, out"))
    def tokens(self, obj: TurnAttempt) -> str:
        return f"{obj.input_tokens:,}, {obj.output_tokens:,}"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("chats.view_turn")


class UnfinishedFilter(admin.SimpleListFilter):
    """Unfinished turns have indexes of their own, so that this filter is quick in any table."""

    title = _("now")
    parameter_name = "now"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("queued", _("Queued")), ("running", _("Running")), ("needs_approval", _("Needs approval"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value()) if self.value() in ACTIVE_TURN else queryset


@admin.register(Turn)
class TurnAdmin(ReadOnlyAdmin):
    """Turns: one agent generation each."""

    list_display = (
        "public_id",
        "shown_status",
        "owner",
        "agent",
        "origin",
        "queued",
        "began",
        "settled",
        "attempts_made",
    )
    list_select_related = ("owner", "agent")
    page_select_related = ("owner", "agent", "conversation")
    audited = ("status",)
    list_filter = (UnfinishedFilter,)
    search_fields = ("public_id",)
    search_ids = {"trn": "public_id", "cnv": "conversation__public_id"}
    search_owner = "owner"
    ordering = ("-id",)
    inlines = (AttemptInline,)
    actions = ("stop", "hint")
    object_actions = {"stop": _("Stop"), "hint": _("Hint again")}
    readonly_fields = ("shown_status",)
    fieldsets = (
        (None, {"fields": (
            "public_id", "shown_status", "why", "owner", "conversation", "its_run", "agent", "origin", "lane",
        )}),
        (_("When"), {"fields": ("made", "queued", "not_earlier", "began", "settled", "stop_asked", "deadline_seconds",
                                "retry_window_seconds", "leased_seconds")}),
        (_("Lease"), {"fields": ("leased_by", "lease_until", "fence", "series")}),
        (_("What it took"), {"fields": ("attempts_made", "input_tokens", "cached_tokens", "output_tokens",
                                        "usage_estimated", "cost", "output_cut", "side_effects")}),
    )  # fmt: skip

    @display(description=_("Status"))
    def shown_status(self, obj: Turn) -> SafeString | str:
        return tag(_STATUSES.get(obj.status, obj.status), obj.status)

    @display(description=_("Why"))
    def why(self, obj: Turn) -> str:
        said = say(obj.error_code, obj.error_params) if obj.error_code else ""
        return " ".join(part for part in (said, obj.error_text) if part) or "–"

    @display(description=_("Run"))
    def its_run(self, obj: Turn) -> SafeString | str:
        """Link to the run that caused the turn, found through the room that keeps runs."""
        found = run_ids_of([obj.pk]).get(obj.pk)
        return link(f"{reverse('admin:index')}schedules/run/?q={found}", found) if found else "–"

    @display(description=_("Made"))
    def made(self, obj: Turn) -> SafeString | str:
        return stamp(obj.created_at)

    @display(description=_("Queued"))
    def queued(self, obj: Turn) -> SafeString | str:
        return stamp(obj.queued_at)

    @display(description=_("Not earlier than"))
    def not_earlier(self, obj: Turn) -> SafeString | str:
        return stamp(obj.not_before)

    @display(description=_("Started"))
    def began(self, obj: Turn) -> SafeString | str:
        return stamp(obj.started_at)

    @display(description=_("Settled"))
    def settled(self, obj: Turn) -> SafeString | str:
        return stamp(obj.settled_at)

    @display(description=_("Stop asked for"))
    def stop_asked(self, obj: Turn) -> SafeString | str:
        return stamp(obj.stop_requested_at)

    @display(description=_("Lease until"))
    def lease_until(self, obj: Turn) -> SafeString | str:
        return stamp(obj.lease_expires_at)

    def can_act(self, obj: Turn, act: str) -> bool:
        return obj.status == TurnStatus.QUEUED if act == "hint" else obj.status in ACTIVE_TURN

    @admin.action(description=_("Stop selected turns"), permissions=["operate"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Turn]) -> None:
        """Stop what waits at once and what streams within a second; what was written is kept."""
        now = clock_now()

        def stopped(turn: Turn) -> bool:
            own = turn.owner_id == request.user.pk
            return turn_stop(turn_id=turn.pk, reason="stopped_by_owner" if own else "stopped_by_staff", now=now)

        act_on(self, request, queryset, stopped, verb="stopped", did=str(_("Stopped")))

    @admin.action(description=_("Hint selected turns again"), permissions=["operate"])
    def hint(self, request: HttpRequest, queryset: QuerySet[Turn]) -> None:
        """Wake the drains when any of the turns is queued; a hint more or less changes nothing else."""
        waiting = list(queryset.filter(status=TurnStatus.QUEUED)[:MOST_AT_ONCE])
        for turn in waiting:
            self.note(request, "hinted", turn)
        if not waiting:
            self.message_user(request, _("None of them is queued."))
        elif hint_drain():
            self.message_user(request, _("A hint was sent."), "SUCCESS")
        else:
            self.message_user(request, _("Enough hints wait already, or the broker does not answer."), "WARNING")
