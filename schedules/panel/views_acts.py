"""The acts of a card: each is a form that works without scripts, and calls one service."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from core.errors import Refusal
from core.panel import done, face, is_htmx, reader_of, where_from
from schedules.panel.finding import run_or_404, schedule_or_404
from schedules.selectors.pages import conversations_kept
from schedules.services.editing import schedule_delete, schedule_pause, schedule_resume, schedule_skip_next
from schedules.services.runs import run_now, run_stop


def _back(request: HttpRequest, public_id: str) -> str:
    return where_from(request, f"{reverse('schedules:panel')}#s-{public_id}")


@face
@require_POST
def run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Run now; the form's key makes a double press one run."""
    schedule, actor = schedule_or_404(request, public_id), cast(User, request.user)
    key = request.POST.get("idempotency_key") or None
    run_now(schedule=schedule, actor=actor, now=reader_of(request).now, key=key)
    return done(request, to=_back(request, public_id), text=_("“%(name)s” runs now.") % {"name": schedule.name})


@face
@require_POST
def pause(request: HttpRequest, public_id: str) -> HttpResponse:
    """Switch off, with an undo."""
    schedule = schedule_pause(schedule=schedule_or_404(request, public_id), now=reader_of(request).now)
    text = _("“%(name)s” was paused.") % {"name": schedule.name}
    return done(request, to=_back(request, public_id), text=text, undo=reverse("schedules:resume", args=[public_id]))


@face
@require_POST
def resume(request: HttpRequest, public_id: str) -> HttpResponse:
    """Switch on again."""
    reader = reader_of(request)
    schedule = schedule_resume(schedule=schedule_or_404(request, public_id), now=reader.now)
    text = _("“%(name)s” is on.") % {"name": schedule.name}
    if schedule.next_occurrence_at is not None:
        text += " " + _("Next run %(away)s.") % {"away": reader.away(schedule.next_occurrence_at)}
    return done(request, to=_back(request, public_id), text=text)


@face
@require_POST
def skip_next(request: HttpRequest, public_id: str) -> HttpResponse:
    """Leave out the occurrence that the button named."""
    reader, schedule = reader_of(request), schedule_or_404(request, public_id)
    at = _instant(request.POST.get("scheduled_for", ""))
    schedule_skip_next(schedule=schedule, scheduled_for=at, now=reader.now)
    text = _("“%(name)s” leaves out %(at)s.") % {"name": schedule.name, "at": reader.short(at)}
    return done(request, to=_back(request, public_id), text=text)


@face
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, public_id: str) -> HttpResponse:
    """Ask, naming what goes and what stays; then delete."""
    schedule = schedule_or_404(request, public_id)
    if request.method == "GET":
        context = {"schedule": schedule, "conversations": conversations_kept(schedule), "fragment": is_htmx(request)}
        return render(request, f"schedules/delete.html{'#sheet' if is_htmx(request) else ''}", context)
    schedule_delete(schedule=schedule, now=reader_of(request).now)
    text = _("“%(name)s” was deleted. Its conversations stay.") % {"name": schedule.name}
    leave = request.POST.get("from") == "page"
    return done(request, to=reverse("schedules:panel"), text=text, events=("saved", "changed"), leave=leave)


@face
@require_POST
def stop_run(request: HttpRequest, public_id: str) -> HttpResponse:
    """Stop a run, or cancel one that waits; an ended one stays as it is."""
    found = run_or_404(request, public_id)
    run_stop(run=found, actor=cast(User, request.user), now=reader_of(request).now)
    to = where_from(request, reverse("schedules:panel"))
    return done(request, to=to, text=_("“%(name)s” stops. What was written is kept.") % {"name": found.name})


def _instant(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal.at("scheduled_for", "required") from None
    if at.tzinfo is None:
        raise Refusal.at("scheduled_for", "instant_without_offset")
    return at
