"""The ledger: every occurrence has its row, and each row says what became of it and why."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from chats.admin.reading import WithText
from chats.queue import hint_drain
from core.admin import act_on, shown_link, stamp, tag, unbroken
from core.admin.acting import MOST_AT_ONCE
from core.clock import now as clock_now
from core.human import duration, money
from schedules.admin.schedules import operator
from schedules.admin.story import events, why
from schedules.domain.states import OPEN, RunKind, RunStatus
from schedules.models import Run
from schedules.outputs.words import OUTCOMES, outcome_word
from schedules.services.again import run_again
from schedules.services.runs import run_stop

MOST_OPEN = 5_000
"""Unfinished runs that a filter lists; there are no more than turns that fit the queue for minutes."""


class OutcomeFilter(admin.SimpleListFilter):
    """What became of the run. Unfinished ones have an index of their own."""

    title = _("outcome")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(status.value, OUTCOMES[status.value]) for status in RunStatus]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        if self.value() not in OPEN:
            return queryset.filter(status=self.value())
        unfinished = Run.objects.filter(settled_at__isnull=True, status=self.value()).order_by()
        return queryset.filter(pk__in=list(unfinished.values_list("pk", flat=True)[:MOST_OPEN]))


class KindFilter(admin.SimpleListFilter):
    """What asked for the run."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        words = {"scheduled": _("Scheduled"), "manual": _("By hand"), "api": _("By API"), "trial": _("Trial")}
        return [(kind.value, words[kind.value]) for kind in RunKind]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(Run)
class RunAdmin(WithText):
    """Runs of everybody, newest first."""

    list_display = ("scheduled", "shown_name", "owner", "outcome", "reason", "delay", "took", "attempts", "spent")
    list_display_links = ("scheduled", "shown_name")
    list_select_related = ("owner",)
    page_select_related = ("owner", "schedule", "agent", "project", "turn", "conversation", "again_of")
    audited = ("status", "reason")
    list_filter = (OutcomeFilter, KindFilter)
    search_fields = ("public_id",)
    search_ids = {"run": "public_id", "sch": "schedule__public_id", "cnv": "conversation__public_id",
                  "trn": "turn__public_id"}  # fmt: skip
    search_owner = "owner"
    search_text = "name"
    ordering = ("-scheduled_for", "-id")
    actions = ("stop", "hint", "again")
    object_actions = {"stop": _("Stop"), "hint": _("Hint again"), "again": _("Run again")}
    fieldsets = (
        (None, {"fields": ("outcome", "because", "owner", "its_schedule", "its_turn", "its_conversation", "project",
                           "agent", "kind", "public_id", "again_of")}),
        (_("What happened"), {"fields": ("story",)}),
        (_("When"), {"fields": ("scheduled", "due", "opened", "began", "settled", "delay", "took", "late", "shifted",
                                "missed_to", "missed_count")}),
        (_("What it took"), {"fields": ("attempts", "input_tokens", "output_tokens", "spent", "notified", "revision",
                                        "overlap_policy")}),
        (_("Prompt"), {"fields": ("said",)}),
    )  # fmt: skip

    @display(description=_("Scheduled for"), ordering="scheduled_for")
    def scheduled(self, obj: Run) -> SafeString | str:
        return stamp(obj.scheduled_for)

    @display(description=_("Name"))
    def shown_name(self, obj: Run) -> str:
        return obj.name or str(_("Trial"))

    @display(description=_("Outcome"))
    def outcome(self, obj: Run) -> SafeString | str:
        return tag(outcome_word(obj.status), obj.status)

    @display(description=_("Why"))
    def because(self, obj: Run) -> str:
        return why(obj, now=clock_now())

    @display(description=_("Delay"))
    def delay(self, obj: Run) -> str:
        if obj.started_at is None:
            return "–"
        seconds = max((obj.started_at - obj.scheduled_for).total_seconds(), 0.0)
        return unbroken(f"{seconds:.2f} s" if seconds < 10 else duration(seconds))

    @display(description=_("Took"))
    def took(self, obj: Run) -> str:
        return unbroken(duration(obj.duration_seconds)) or "–"

    @display(description=_("Cost"))
    def spent(self, obj: Run) -> str:
        return money(obj.cost) or "–"

    @display(description=_("Schedule"))
    def its_schedule(self, obj: Run) -> SafeString | str:
        return shown_link(obj.schedule)

    @display(description=_("Turn"))
    def its_turn(self, obj: Run) -> SafeString | str:
        return shown_link(obj.turn, obj.turn.public_id) if obj.turn else "–"

    @display(description=_("Conversation"))
    def its_conversation(self, obj: Run) -> SafeString | str:
        return shown_link(obj.conversation)

    @display(description=_("In order"))
    def story(self, obj: Run) -> SafeString | str:
        """Tell everything that happened to the run."""
        attempts = list(obj.turn.attempts.all()) if obj.turn else []
        return render_to_string("admin/schedules/story.html", {"events": events(obj, attempts)})

    @display(description=_("Due"))
    def due(self, obj: Run) -> SafeString | str:
        return stamp(obj.due_at)

    @display(description=_("Opened"))
    def opened(self, obj: Run) -> SafeString | str:
        return stamp(obj.opened_at)

    @display(description=_("Started"))
    def began(self, obj: Run) -> SafeString | str:
        return stamp(obj.started_at)

    @display(description=_("Settled"))
    def settled(self, obj: Run) -> SafeString | str:
        return stamp(obj.settled_at)

    @display(description=_("Missed until"))
    def missed_to(self, obj: Run) -> SafeString | str:
        return stamp(obj.missed_until)

    @display(description=_("Prompt"))
    def said(self, obj: Run) -> SafeString | str:
        return self.text_or_hidden(obj, obj.prompt)

    def can_act(self, obj: Run, act: str) -> bool:
        if act == "again":
            return obj.settled_at is not None
        return obj.status == RunStatus.QUEUED if act == "hint" else obj.settled_at is None

    @admin.action(description=_("Stop selected runs"), permissions=["operate"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        """Stop what waits at once and what streams within a second; what was written is kept."""
        now, by = clock_now(), operator(request)

        def stopped(run: Run) -> bool:
            return run.settled_at is None and bool(run_stop(run=run, actor=by, now=now))

        act_on(self, request, queryset, stopped, verb="stopped", did=str(_("Stopped")))

    @admin.action(description=_("Run selected again"), permissions=["operate"])
    def again(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        """Open a new manual run of each one's snapshot, linked to it."""
        now, by = clock_now(), operator(request)
        did = str(_("Started again"))
        act_on(
            self, request, queryset, lambda run: run_again(run=run, actor=by, now=now), verb="started_again", did=did
        )

    @admin.action(description=_("Hint selected runs again"), permissions=["operate"])
    def hint(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        """Wake the drains when any of the runs is queued; a hint more or less changes nothing else."""
        queued = list(queryset.filter(status=RunStatus.QUEUED, settled_at__isnull=True)[:MOST_AT_ONCE])
        for run in queued:
            self.note(request, "hinted", run)
        if not queued:
            self.message_user(request, _("None of them is queued."))
        elif hint_drain():
            self.message_user(request, _("A hint was sent."), "SUCCESS")
        else:
            self.message_user(request, _("Enough hints wait already, or the broker does not answer."), "WARNING")
