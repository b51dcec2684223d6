"""The first page of the admin, and what every page of it shows."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.selectors.stops import global_stop
from chats.queue import waiting_hints
from chats.selectors.health import CLOCK_SILENT_SECONDS, DRAIN_SILENT_SECONDS
from core.clock import now as clock_now
from core.human import duration, money, say
from schedules.admin.labels import REASONS
from schedules.outputs.words import outcome_word
from schedules.selectors.dashboard import blocked_by_reason, day_figures, engine_figures, now_figures


def every_page(request: HttpRequest) -> dict[str, Any]:
    """Return what the banner of each admin page needs: the global stop, when it is on."""
    stop = global_stop() if request.user.is_authenticated else None
    return {"global_stop": stop, "global_stop_url": reverse("admin:accounts_globalstop_changelist")}


def first_page(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of the first page with its figures; they are for those who may see runs."""
    if not request.user.has_perm("schedules.view_run"):
        return {**context, "figures": None}
    now = clock_now()
    return {**context, "figures": {"now": _now(now), "day": _day(now), "blocked": _blocked(), "engine": _engine(now)}}


def _now(now: Any) -> list[dict[str, Any]]:
    found = now_figures(now)
    turns, runs = reverse("admin:chats_turn_changelist"), reverse("admin:schedules_run_changelist")
    return [
        {"name": _("Due now"), "value": found.due, "url": reverse("admin:schedules_schedule_changelist")},
        {"name": _("Running"), "value": found.running, "url": f"{turns}?now=running"},
        {"name": _("Queued"), "value": found.queued, "url": f"{turns}?now=queued"},
        {"name": _("Waiting for approval"), "value": found.approvals, "url": f"{runs}?status=needs_approval"},
    ]


def _day(now: Any) -> dict[str, Any]:
    found = day_figures(now)
    runs = reverse("admin:schedules_run_changelist")
    most = max(found.outcomes.values(), default=1)
    outcomes = [
        {
            "status": status,
            "name": outcome_word(status),
            "value": number,
            "share": round(100 * number / most, 1),
            "url": f"{runs}?status={status}",
        }
        for status, number in sorted(found.outcomes.items(), key=lambda item: -item[1])
    ]
    return {
        "outcomes": outcomes,
        "total": found.total,
        "bounded": found.bounded,
        "started": found.started,
        "spent": money(found.spent),
        "p50": _seconds(found.p50),
        "p99": _seconds(found.p99),
    }


def _blocked() -> list[dict[str, Any]]:
    schedules = reverse("admin:schedules_schedule_changelist")
    return [
        {
            "code": code,
            "text": REASONS.get(code) or say(code),
            "value": number,
            "url": f"{schedules}?blocked_reason={code}",
        }
        for code, number in blocked_by_reason()
    ]


def _engine(now: Any) -> list[dict[str, Any]]:
    """Return name, value and whether it is bad, for each part that does the work."""
    found = engine_figures(now)
    hints = waiting_hints()
    broker = "Redis" if "redis" in settings.Q_CLUSTER else str(_("Database"))
    silent = found.clock_age is None or found.clock_age > CLOCK_SILENT_SECONDS
    drains = found.drain_age is None or found.drain_age > DRAIN_SILENT_SECONDS
    return [
        {"name": _("Clock ticked"), "value": _ago(found.clock_age), "bad": silent},
        {"name": _("Drain seen"), "value": _ago(found.drain_age), "bad": silent and drains},
        {"name": _("Worker hosts"), "value": found.hosts, "bad": found.hosts == 0},
        {"name": _("Cluster restarts"), "value": found.cluster_restarts, "bad": False},
        {"name": _("Hints waiting"), "value": _("no answer") if hints is None else hints, "bad": hints is None},
        {"name": _("Broker"), "value": broker, "bad": False},
        {"name": _("Database"), "value": found.database, "bad": False},
        {"name": _("Zone data"), "value": found.zone_data, "bad": False},
    ]


def _ago(age: float | None) -> str:
    if age is None:
        return str(_("never"))
    return str(_("now")) if age < 2 else str(_("%(span)s ago")) % {"span": duration(age)}


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f} s" if value < 10 else duration(value)
