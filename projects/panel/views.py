"""Pages of projects: the list, one project with what is filed in it, and its acts."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from core.errors import Refusal
from core.human import Reader, say
from core.panel import SWAP_HEADER, done, face, is_htmx, reader_of
from projects.models import ChatProject
from projects.selectors import (
    filed_counts,
    filed_names,
    policy_of,
    project_find,
    projects_matching,
    projects_of,
)
from projects.services.projects import COLOURS, project_archive, project_create, project_delete, project_edit

_KEEP, _NONE = "keep", "none"


@face
@require_safe
def projects(request: HttpRequest) -> HttpResponse:
    """`/projects/`: all of them, archived ones last; `?q=` searches names and descriptions."""
    owner, text = cast(User, request.user), request.GET.get("q", "").strip()[:100]
    found = list(projects_matching(owner, text=text).order_by("name_key"))
    counts, reader = filed_counts([project.pk for project in found]), reader_of(request)
    rows = [_row(project, counts[project.pk], reader) for project in found]
    rows.sort(key=lambda row: row["archived"])
    return render(request, "projects/list.html", {"rows": rows, "q": text, "here": "projects"})


@face
@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """`/projects/new`."""
    typed = {"name": request.POST.get("name", ""), "description": request.POST.get("description", "")}
    if request.method == "GET":
        return _form(request, typed)
    owner = cast(User, request.user)
    try:
        made = project_create(owner=owner, now=reader_of(request).now, colour=_colour(request), **typed)
    except Refusal as refusal:
        return _form(request, typed, refusal=refusal)
    to = reverse("projects:detail", args=[made.public_id])
    return done(request, to=to, text=_("“%(name)s” is made.") % {"name": made.name}, leave=True)


@face
@require_safe
def detail(request: HttpRequest, public_id: str) -> HttpResponse:
    """`/projects/<id>/`: its conversations and the schedules that file into it."""
    project = _found(request, public_id)
    pinned = policy_of(project.owner).pin_id == project.pk
    context = {"project": project, "pinned": pinned, "reader": reader_of(request), "here": "projects"}
    return render(request, "projects/detail.html", context)


@face
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, public_id: str) -> HttpResponse:
    """Change name, description or colour."""
    project = _found(request, public_id)
    if request.method == "GET":
        stored = {"name": project.name, "description": project.description, "colour": project.colour}
        return _form(request, stored, project)
    typed: dict[str, Any] = {name: request.POST.get(name, "") for name in ("name", "description")}
    typed |= {"colour": _colour(request) or project.colour}
    try:
        project = project_edit(project=project, values=typed, now=reader_of(request).now)
    except Refusal as refusal:
        return _form(request, typed, project, refusal)
    to = reverse("projects:detail", args=[public_id])
    return done(request, to=to, text=_("“%(name)s” is saved.") % {"name": project.name}, leave=True)


@face
@require_POST
def archive(request: HttpRequest, public_id: str) -> HttpResponse:
    """Hide it from pickers, or bring it back; schedules that file into it go on."""
    archived = request.POST.get("archived") == "on"
    project = project_archive(project=_found(request, public_id), archived=archived, now=reader_of(request).now)
    said = _("“%(name)s” is archived. Its schedules go on.") if archived else _("“%(name)s” is back.")
    to = reverse("projects:detail", args=[public_id])
    return done(request, to=to, text=said % {"name": project.name}, leave=True)


@face
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, public_id: str) -> HttpResponse:
    """Ask, naming the schedules that file into it and offering to move them in the same act; then delete."""
    project = _found(request, public_id)
    if request.method == "GET":
        return _ask_delete(request, project)
    move = _move(request, project)
    try:
        project_delete(project=project, now=reader_of(request).now, **move)
    except Refusal as refusal:
        return _ask_delete(request, project, refusal)
    text = _("“%(name)s” was deleted. Its conversations stay.") % {"name": project.name}
    return done(request, to=reverse("projects:list"), text=text, leave=True)


def _found(request: HttpRequest, public_id: str) -> ChatProject:
    project = project_find(cast(User, request.user), public_id)
    if project is None:
        raise Refusal("not_found")
    return project


def _row(project: ChatProject, counts: dict[str, int], reader: Reader) -> dict[str, Any]:
    return {
        "id": project.public_id,
        "name": project.name,
        "description": project.description,
        "colour": project.colour,
        "archived": project.archived_at is not None,
        "conversations": counts.get("conversations", 0),
        "schedules": counts.get("schedules", 0),
        "at": reader.stamp(project.updated_at),
    }


def _colour(request: HttpRequest) -> int | None:
    given = request.POST.get("colour", "")
    return int(given) if given.isdecimal() else None


def _form(
    request: HttpRequest,
    values: dict[str, Any],
    project: ChatProject | None = None,
    refusal: Refusal | None = None,
) -> HttpResponse:
    errors: dict[str, list[dict[str, str]]] = {}
    for error in refusal.fields if refusal else ():
        errors.setdefault(error.path, []).append({"code": error.code, "text": say(error.code, error.params)})
    context = {
        "project": project,
        "v": values,
        "errors": errors,
        "notice": say(refusal.code, refusal.params) if refusal and not refusal.fields else "",
        "colours": range(1, COLOURS + 1),
        "fragment": is_htmx(request),
        "action": request.path,
        "back": reverse("projects:detail", args=[project.public_id]) if project else reverse("projects:list"),
    }
    return _sheet(request, "projects/form.html", context, refusal)


def _ask_delete(request: HttpRequest, project: ChatProject, refusal: Refusal | None = None) -> HttpResponse:
    others = projects_of(project.owner).filter(archived_at=None).exclude(pk=project.pk).order_by("name_key")
    context = {
        "project": project,
        "filed": filed_names(project),
        "counts": filed_counts([project.pk])[project.pk],
        "others": others,
        "required": policy_of(project.owner).required,
        "notice": say(refusal.code, refusal.params) if refusal else "",
        "fragment": is_htmx(request),
    }
    return _sheet(request, "projects/delete.html", context, refusal)


def _move(request: HttpRequest, project: ChatProject) -> dict[str, Any]:
    """Return where the schedules go, as `project_delete` takes it: nothing, to none, or to another project."""
    wanted = request.POST.get("move_to", _KEEP)
    if wanted == _KEEP:
        return {}
    if wanted == _NONE:
        return {"move_to": None}
    target = project_find(project.owner, wanted)
    if target is None:
        raise Refusal.at("move_to", "project_not_found")
    return {"move_to": target}


def _sheet(request: HttpRequest, template: str, context: dict[str, Any], refusal: Refusal | None) -> HttpResponse:
    status = refusal.status if refusal else 200
    response = render(request, f"{template}#sheet" if is_htmx(request) else template, context, status=status)
    response[SWAP_HEADER] = "1"
    return response
