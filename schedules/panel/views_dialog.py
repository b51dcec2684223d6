"""Create, edit and duplicate: one form, in a dialog or as a page of its own."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from core.errors import Refusal
from core.human import Reader
from core.panel import SWAP_HEADER, done, face, is_htmx, reader_of
from schedules.inputs.form import form_to_body
from schedules.models import Schedule
from schedules.panel.choices import fresh_values, offered, quick_values
from schedules.panel.conflict import conflict_view
from schedules.panel.costs import Asked
from schedules.panel.finding import schedule_or_404
from schedules.panel.forms import form_view, stored_values, typed
from schedules.panel.preview import preview_of_post, preview_view
from schedules.services.editing import schedule_create, schedule_edit

PAGE = "schedules/form.html"


@face
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """`/schedules/new`: empty, from a template (`?start=`), or a copy (`?copy=<id>`)."""
    reader = reader_of(request)
    if request.method == "GET":
        return _form(request, reader, _start_values(request, reader))
    if "look" in request.GET:
        return _form(request, reader, _looked(request, reader, None))
    owner = cast(User, request.user)
    try:
        key = request.POST.get("idempotency_key") or None
        made, _replayed = schedule_create(owner=owner, body=form_to_body(request.POST), now=reader.now, key=key)
    except Refusal as refusal:
        return _form(request, reader, typed(request.POST, reader, None), refusal=refusal)
    return _saved(request, reader, made, _("“%(name)s” is made."))


@face
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, public_id: str) -> HttpResponse:
    """`/schedules/<id>/edit`: `?field=project` puts the focus there."""
    reader, schedule = reader_of(request), schedule_or_404(request, public_id)
    if request.method == "GET":
        return _form(request, reader, stored_values(schedule, reader), schedule)
    if "look" in request.GET or request.POST.get("resolve") == "edit":
        return _form(request, reader, _looked(request, reader, schedule), schedule)
    try:
        if_match = int(request.POST["revision"]) if request.POST.get("revision", "").isdigit() else None
        body = form_to_body(request.POST, schedule)
        row = schedule_edit(schedule=schedule, body=body, now=reader.now, if_match=if_match)
    except Refusal as refusal:
        if refusal.code == "schedule_changed":
            return _conflict(request, reader, schedule)
        return _form(request, reader, typed(request.POST, reader, schedule), schedule, refusal=refusal)
    return _saved(request, reader, row, _("“%(name)s” is saved."))


@face
@require_POST
def preview(request: HttpRequest) -> HttpResponse:
    """Say what the form's frequency means, by the same service as the API."""
    owner = cast(User, request.user)
    shown = preview_of_post(owner=owner, post=request.POST, reader=reader_of(request))
    return render(request, f"{PAGE}#preview", {"preview": shown, "form": {"look": ""}})


@face
@require_POST
def quick(request: HttpRequest) -> HttpResponse:
    """Fill date and time of "in 5 minutes", to the second, on the clock of the chosen zone."""
    reader = reader_of(request)
    values = quick_values(_minutes(request), reader, request.POST.get("zone", reader.zone))
    owner = cast(User, request.user)
    form = {**offered(reader), "v": values, "errors": {}, "look": ""}
    shown = preview_of_post(owner=owner, post=_with_once(request.POST, values), reader=reader)
    return render(request, "schedules/quick.html", {"form": form, "preview": shown})


def _with_once(post: QueryDict, values: dict[str, Any]) -> QueryDict:
    """Return the post with the date and time that the page will show."""
    shown = post.copy()
    shown["at_date"], shown["at_time"] = values["at_date"], values["at_time"]
    return shown


def _minutes(request: HttpRequest) -> int:
    given = request.POST.get("quick", "")
    return min(max(int(given), 1), 60) if given.isdecimal() else 5


def _start_values(request: HttpRequest, reader: Reader) -> dict[str, Any]:
    if "copy" not in request.GET:
        return fresh_values(reader, request.GET.get("start", ""))
    copied = schedule_or_404(request, request.GET["copy"])
    name = _("%(name)s (copy)") % {"name": copied.name}
    return stored_values(copied, reader) | {"name": name, "revision": "", "enabled": True}


def _looked(request: HttpRequest, reader: Reader, schedule: Schedule | None) -> dict[str, Any]:
    """Return what was typed, with a quick choice filled in: how the form works without scripts."""
    values = typed(request.POST, reader, schedule)
    if "quick" in request.POST:
        values |= quick_values(_minutes(request), reader, str(values["zone"]))
    return values | ({"revision": str(schedule.revision)} if schedule is not None else {})


def _form(
    request: HttpRequest,
    reader: Reader,
    values: dict[str, Any],
    schedule: Schedule | None = None,
    refusal: Refusal | None = None,
) -> HttpResponse:
    owner, here = cast(User, request.user), request.path
    form = form_view(
        owner=owner, reader=reader, values=values, schedule=schedule, refusal=refusal, fragment=is_htmx(request),
        action=here, look=f"{here}?look=1", back=_back(schedule, request), draft=request.get_full_path(),
        focus=request.GET.get("field", "name"),
        edited=schedule.public_id if schedule else "",
        title=_("Edit “%(name)s”") % {"name": schedule.name} if schedule else _("New schedule"),
        submit=_("Save") if schedule else _("Create schedule"),
    )  # fmt: skip
    shown = _preview_of(request, owner, reader, schedule, values)
    part = "body" if request.method == "POST" else "sheet"
    template = f"{PAGE}#{part}" if is_htmx(request) else PAGE
    status = refusal.status if refusal is not None else 200
    response = render(request, template, {"form": form, "preview": shown}, status=status)
    response[SWAP_HEADER] = "1"
    return response


def _preview_of(
    request: HttpRequest, owner: User, reader: Reader, schedule: Schedule | None, values: dict[str, Any]
) -> dict[str, Any]:
    if request.method == "POST":
        return preview_of_post(owner=owner, post=_with_once(request.POST, values), reader=reader)
    if schedule is None and "copy" not in request.GET:
        values = fresh_values(reader, request.GET.get("start", ""))
        cadence = {"kind": values["kind"], "time": values["time"]}
        cadence |= {"days": values["days"]} if values["kind"] == "weekly" else {}
        return preview_view(owner=owner, cadence=cadence, zone=reader.zone, reader=reader)
    shown = schedule or schedule_or_404(request, request.GET["copy"])
    asked = Asked(shown.agent.public_id, shown.prompt, shown)
    return preview_view(owner=owner, cadence=shown.cadence, zone=shown.zone, reader=reader, asked=asked)


def _back(schedule: Schedule | None, request: HttpRequest) -> str:
    if schedule is not None and request.GET.get("from") == "page":
        return reverse("schedules:detail", args=[schedule.public_id])
    return reverse("schedules:panel")


def _conflict(request: HttpRequest, reader: Reader, schedule: Schedule) -> HttpResponse:
    """Show both versions; nothing that was typed is lost (`schedule_changed`)."""
    stored = schedule_or_404(request, schedule.public_id)
    view = conflict_view(schedule=stored, post=request.POST, reader=reader)
    context = {"conflict": view | {"action": request.path, "back": _back(stored, request)}}
    template = "schedules/conflict.html#body" if is_htmx(request) else "schedules/conflict.html"
    response = render(request, template, context, status=409)
    response[SWAP_HEADER] = "1"
    return response


def _saved(request: HttpRequest, reader: Reader, schedule: Schedule, text: str) -> HttpResponse:
    said = text % {"name": schedule.name}
    if schedule.next_occurrence_at is not None:
        at = schedule.next_occurrence_at
        said += " " + _("Next run %(away)s, %(at)s.") % {"away": reader.away(at), "at": reader.short(at, exact=True)}
    to = f"{reverse('schedules:panel')}#s-{schedule.public_id}"
    return done(request, to=to, text=said, events=("saved", "changed"))
