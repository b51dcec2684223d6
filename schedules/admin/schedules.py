"""Schedules of everybody: why one is not running, and what an operator may do about it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.models import User
from chats.admin.reading import WithText
from core.admin import act_on, link, shown_link, stamp, tag
from core.clock import now as clock_now
from core.human import say
from schedules.domain.choices import DEFAULT_NOTIFY
from schedules.models import Schedule
from schedules.outputs.wire import description_of
from schedules.outputs.words import NOTIFIES, STATES, outcome_word
from schedules.selectors.lists import own_state
from schedules.services.editing import schedule_delete, schedule_pause
from schedules.services.operating import BY_OPERATOR, schedule_block, schedule_release
from schedules.services.runs import run_now

_KINDS: dict[str, Q] = {
    "on": Q(enabled=True, blocked_reason="", completed_at=None, deleting_at=None),
    "blocked": ~Q(blocked_reason=""),
    "paused": Q(enabled=False, blocked_reason="", deleting_at=None),
    "completed": Q(completed_at__isnull=False, deleting_at=None),
    "deleting": Q(deleting_at__isnull=False),
}


class StateFilter(admin.SimpleListFilter):
    """What a schedule's own columns say."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(name, STATES["armed" if name == "on" else name]) for name in _KINDS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        state = self.value()
        return queryset.filter(_KINDS[state]) if state in _KINDS else queryset


class ReasonFilter(admin.SimpleListFilter):
    """Why blocked ones are blocked; offered for the reasons there are."""

    title = _("reason of the block")
    parameter_name = "blocked_reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        reasons = Schedule.objects.exclude(blocked_reason="").order_by("blocked_reason")
        return [(code, code) for code in reasons.values_list("blocked_reason", flat=True).distinct()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        return queryset.exclude(blocked_reason="").filter(blocked_reason=self.value())


def operator(request: HttpRequest) -> User:
    """Return who asks; the site lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


@admin.register(Schedule)
class ScheduleAdmin(WithText):
    """Schedules."""

    list_display = ("__str__", "owner", "state", "cadence_words", "next_at", "last_outcome")
    list_select_related = ("owner", "last_run")
    page_select_related = ("owner", "agent", "project", "target", "last_run")
    list_filter = (StateFilter, ReasonFilter)
    search_fields = ("public_id",)
    search_ids = {"sch": "public_id", "run": "runs__public_id"}
    search_owner = "owner"
    search_text = "name"
    ordering = ("-id",)
    actions = ("pause", "resume", "block", "run_it")
    object_actions = {
        "pause": _("Pause"), "resume": _("Resume"), "block": _("Block"), "run_it": _("Run now"),
    }  # fmt: skip
    deletable = True
    audited = ("enabled", "blocked_reason", "completed_at", "deleting_at")
    delete_warning = _("What has not started is cancelled, what runs is stopped. Its conversations stay.")
    fieldsets = (
        (None, {"fields": ("called", "owner", "state", "why", "public_id", "its_runs", "last_outcome")}),
        (_("When"), {"fields": ("cadence_words", "zone", "next_at", "looked_at", "planned", "ends", "max_runs",
                                "left_out", "skip_next")}),
        (_("What"), {"fields": ("agent", "project", "target", "said")}),
        (_("Rules"), {"fields": ("overlap_policy", "misfire_policy", "misfire_grace_seconds", "deadline_seconds",
                                 "retry_window_seconds", "told")}),
        (_("Counters"), {"fields": ("succeeded_count", "reached_count", "failure_streak", "balance_skip_streak",
                                    "look_failures", "look_error", "revision", "made", "changed")}),
    )  # fmt: skip

    @display(description=_("Name"))
    def called(self, obj: Schedule) -> str:
        return str(obj)

    @display(description=_("State"))
    def state(self, obj: Schedule) -> SafeString | str:
        return tag(STATES[own_state(obj)], own_state(obj))

    @display(description=_("Why"))
    def why(self, obj: Schedule) -> str:
        """Say why it does not run, or that it does."""
        if obj.blocked_reason:
            return say(obj.blocked_reason, obj.blocked_params)
        if obj.look_failures:
            return say("internal")
        said = {
            "paused": _("Its owner paused it."),
            "completed": _("Nothing is left to run."),
            "deleting": _("It goes when its last run has ended."),
        }
        return str(said.get(own_state(obj), _("It runs.")))

    @display(description=_("Cadence"))
    def cadence_words(self, obj: Schedule) -> str:
        return description_of(obj) or str(_("Cannot be read"))

    @display(description=_("Next"), ordering="next_run_at")
    def next_at(self, obj: Schedule) -> SafeString | str:
        return stamp(obj.next_occurrence_at) if obj.is_on else "–"

    @display(description=_("Clock looks at"))
    def looked_at(self, obj: Schedule) -> SafeString | str:
        return stamp(obj.next_run_at)

    @display(description=_("Ledger complete to"))
    def planned(self, obj: Schedule) -> SafeString | str:
        return stamp(obj.planned_through)

    @display(description=_("Until"))
    def ends(self, obj: Schedule) -> SafeString | str:
        return stamp(obj.until)

    @display(description=_("Dates left out"))
    def left_out(self, obj: Schedule) -> str:
        return ", ".join(obj.skip_dates) or "–"

    @display(description=_("Owner is told"))
    def told(self, obj: Schedule) -> str:
        """Say of which outcomes the owner is told."""
        return str(dict(NOTIFIES)[{**DEFAULT_NOTIFY, **obj.notify}["on"]])

    @display(description=_("Left out next"))
    def skip_next(self, obj: Schedule) -> SafeString | str:
        return stamp(obj.skip_next_at)

    @display(description=_("Last run"))
    def last_outcome(self, obj: Schedule) -> SafeString | str:
        return tag(outcome_word(obj.last_run.status), obj.last_run.status) if obj.last_run else "–"

    @display(description=_("Runs"))
    def its_runs(self, obj: Schedule) -> SafeString | str:
        every = link(f"{reverse('admin:schedules_run_changelist')}?q={obj.public_id}", _("All its runs"))
        newest = shown_link(obj.last_run, _("the newest")) if obj.last_run else ""
        return format_html("{} · {}", every, newest) if newest else every

    @display(description=_("Prompt"))
    def said(self, obj: Schedule) -> SafeString | str:
        return self.text_or_hidden(obj, obj.prompt)

    @display(description=_("Made"))
    def made(self, obj: Schedule) -> SafeString | str:
        return stamp(obj.created_at)

    @display(description=_("Changed"))
    def changed(self, obj: Schedule) -> SafeString | str:
        return stamp(obj.updated_at)

    def can_act(self, obj: Schedule, act: str) -> bool:
        if obj.deleting_at is not None:
            return False
        if act == "pause":
            return obj.enabled
        if act == "resume":
            return not obj.is_on
        return act != "block" or obj.blocked_reason != BY_OPERATOR

    @admin.action(description=_("Pause selected"), permissions=["operate"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Switch off, as the owner can switch on again."""
        now = clock_now()
        did = str(_("Paused"))
        act_on(self, request, queryset, lambda row: schedule_pause(schedule=row, now=now), verb="paused", did=did)

    @admin.action(description=_("Resume selected"), permissions=["operate"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Switch on for the owner, and lift an operator's block."""
        now, by = clock_now(), operator(request)
        did = str(_("Resumed"))
        act_on(
            self,
            request,
            queryset,
            lambda row: schedule_release(schedule=row, actor=by, now=now),
            verb="resumed",
            did=did,
        )

    @admin.action(description=_("Block selected"), permissions=["operate"])
    def block(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Block until an operator lets it go."""
        now, by = clock_now(), operator(request)
        did = str(_("Blocked"))
        act_on(
            self,
            request,
            queryset,
            lambda row: schedule_block(schedule=row, actor=by, now=now),
            verb="blocked",
            did=did,
        )

    @admin.action(description=_("Run selected now"), permissions=["operate"])
    def run_it(self, request: HttpRequest, queryset: QuerySet[Schedule]) -> None:
        """Start one run of each, by hand; its times stay as they are."""
        now, by = clock_now(), operator(request)
        did = str(_("Started"))
        act_on(self, request, queryset, lambda row: run_now(schedule=row, actor=by, now=now), verb="started", did=did)

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        schedule_delete(schedule=obj, now=now)
