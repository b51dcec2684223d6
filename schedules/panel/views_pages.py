"""A schedule's own page and the ledger across schedules."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.models import User
from core.human import Reader
from core.panel import face, is_htmx, not_modified, reader_of, unchanged, watched
from schedules.outputs.ledger import by_day
from schedules.outputs.pages import schedule_page
from schedules.outputs.words import OUTCOMES
from schedules.panel.finding import schedule_or_404
from schedules.selectors.pages import NEEDS_A_LOOK, Wanted, ledger_page, schedule_names

_LOOK = "look"


@face
@require_safe
def detail(request: HttpRequest, public_id: str) -> HttpResponse:
    """`/schedules/<id>/`: the page, or what changed on it since the last look."""
    owner, schedule = cast(User, request.user), schedule_or_404(request, public_id)
    view = schedule_page(owner=owner, schedule=schedule, reader=reader_of(request))
    if unchanged(request, view["version"]):
        return not_modified(view["version"], view["every"])
    template = "schedules/detail.html#updates" if is_htmx(request) else "schedules/detail.html"
    context = {"page": view, "panel": view, "here": "schedules"}
    return watched(render(request, template, context), view["version"], view["every"])


@face
@require_safe
def runs(request: HttpRequest) -> HttpResponse:
    """`/runs/`: every occurrence of every schedule, each accounted for once."""
    owner, reader = cast(User, request.user), reader_of(request)
    wanted = _wanted(request, reader)
    found, older = ledger_page(owner, wanted)
    context = {
        "days": by_day(found, reader),
        "older": _older(request, found[-1].public_id) if older else "",
        "filter": _filter(request, owner, wanted),
        "zone": reader.zone,
        "here": "runs",
    }
    return render(request, "schedules/runs.html", context)


def _wanted(request: HttpRequest, reader: Reader) -> Wanted:
    query = request.GET
    outcome = query.get("outcome", "")
    statuses = NEEDS_A_LOOK if outcome == _LOOK else [outcome] if outcome in OUTCOMES else []
    until = _midnight(query.get("until", ""), reader)
    return Wanted(
        statuses=statuses,
        schedule=query.get("schedule", ""),
        since=_midnight(query.get("since", ""), reader),
        until=until + timedelta(days=1) if until else None,
        text=query.get("q", "").strip()[:200],
        before=query.get("before", ""),
    )


def _midnight(text: str, reader: Reader) -> datetime | None:
    """Return the first instant of a typed date on the reader's clock; None when it is no date."""
    try:
        return datetime.combine(date.fromisoformat(text), time(), tzinfo=reader.tz)
    except (ValueError, OverflowError):
        return None


def _filter(request: HttpRequest, owner: User, wanted: Wanted) -> dict[str, Any]:
    query = request.GET
    outcomes = [("", gettext_lazy("All outcomes")), (_LOOK, gettext_lazy("Needs a look")), *OUTCOMES.items()]
    return {
        "outcomes": outcomes,
        "outcome": query.get("outcome", ""),
        "schedules": [("", gettext_lazy("All schedules")), *schedule_names(owner)],
        "schedule": wanted.schedule,
        "since": query.get("since", "") if wanted.since else "",
        "until": query.get("until", "") if wanted.until else "",
        "q": wanted.text,
        "on": any(query.get(name) for name in ("outcome", "schedule", "since", "until", "q")),
    }


def _older(request: HttpRequest, last: str) -> str:
    query = request.GET.copy()
    query["before"] = last
    return f"?{query.urlencode()}"
