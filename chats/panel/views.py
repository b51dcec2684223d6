"""Conversation pages: the list, one thread as it grows, and what its owner does with it."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from chats.models import Conversation
from chats.panel.pages import list_view, thread_version, thread_view
from chats.selectors.conversations import conversation_find, turn_find
from chats.selectors.reading import conversations_page, thread_facts, thread_of
from chats.services.conversations import (
    conversation_delete,
    conversation_move,
    conversation_read,
    conversation_rename,
    conversation_turn_stop,
)
from core.errors import Refusal
from core.human import say
from core.panel import SWAP_HEADER, done, face, is_htmx, not_modified, reader_of, unchanged, watched
from projects.models import ChatProject
from projects.selectors import project_find, projects_of

_LATEST = 12


@face
@require_safe
def conversations(request: HttpRequest) -> HttpResponse:
    """`/c/`: all conversations, newest first; `?q=` looks in titles and in everything said."""
    owner, text = cast(User, request.user), request.GET.get("q", "").strip()[:200]
    found, more = conversations_page(owner, text=text, before=request.GET.get("before", ""))
    context = {"rows": list_view(found, reader_of(request)), "q": text, "here": "chats"}
    return render(request, "chats/list.html", context | {"older": found[-1].public_id if more else ""})


@face
@require_safe
def latest(request: HttpRequest) -> HttpResponse:
    """Return the newest answers, for the pane beside the panel."""
    found, _more = conversations_page(cast(User, request.user), most=_LATEST)
    return render(request, "chats/list.html#rows", {"rows": list_view(found, reader_of(request)), "pane": True})


@face
@require_safe
def conversation(request: HttpRequest, public_id: str) -> HttpResponse:
    """`/c/<id>`: the thread; a script's look gets what changed, or 304."""
    found, reader = _found(request, public_id), reader_of(request)
    facts = thread_facts(found)
    if found.unread and facts.active is None:
        found = conversation_read(conversation=found, now=reader.now)
    etag, every = thread_version(found, facts, reader)
    if unchanged(request, etag):
        return not_modified(etag, every)
    view = thread_view(found, thread_of(found), reader) | {"version": etag, "every": every}
    _keep_known(view, request)
    template = "chats/conversation.html#updates" if is_htmx(request) else "chats/conversation.html"
    context = {"talk": view, "conversation": found, "reader": reader, "here": "chats"}
    return watched(render(request, template, context), etag, every)


@face
@require_POST
def stop(request: HttpRequest, public_id: str, turn_id: str) -> HttpResponse:
    """Stop the answer that is being written; what was written is kept."""
    turn = turn_find(_found(request, public_id), turn_id)
    if turn is None:
        raise Refusal("not_found")
    conversation_turn_stop(turn=turn, now=reader_of(request).now)
    return done(request, to=_to(public_id), text=_("It stops. What was written is kept."))


@face
@require_http_methods(["GET", "HEAD", "POST"])
def move(request: HttpRequest, public_id: str) -> HttpResponse:
    """File it in another project, or in none."""
    found = _found(request, public_id)
    if request.method == "GET":
        return _sheet(request, "move", found, projects=_pickable(request))
    project = _project(request)
    conversation_move(conversation=found, project=project, now=reader_of(request).now)
    text = _("Filed in “%(name)s”.") % {"name": project.name} if project else _("Taken out of its project.")
    return done(request, to=_to(public_id), text=text, events=("saved", "changed"))


@face
@require_http_methods(["GET", "HEAD", "POST"])
def rename(request: HttpRequest, public_id: str) -> HttpResponse:
    """Give it another title."""
    found, title = _found(request, public_id), request.POST.get("title", "")
    if request.method == "GET":
        return _sheet(request, "rename", found, title=found.title)
    try:
        conversation_rename(conversation=found, title=title, now=reader_of(request).now)
    except Refusal as refusal:
        return _sheet(request, "rename", found, refusal, title=title)
    return done(request, to=_to(public_id), text=_("Renamed."), events=("saved", "changed"))


@face
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, public_id: str) -> HttpResponse:
    """Ask, then erase everything said."""
    found = _found(request, public_id)
    if request.method == "GET":
        return _sheet(request, "delete", found)
    conversation_delete(conversation=found, now=reader_of(request).now)
    text = _("“%(title)s” was deleted.") % {"title": found.title}
    return done(request, to=reverse("chats:list"), text=text, leave=True)


def _found(request: HttpRequest, public_id: str) -> Conversation:
    found = conversation_find(cast(User, request.user), public_id)
    if found is None:
        raise Refusal("not_found")
    return found


def _to(public_id: str) -> str:
    return reverse("chats:conversation", args=[public_id])


def _pickable(request: HttpRequest) -> list[ChatProject]:
    return list(projects_of(cast(User, request.user)).filter(archived_at=None).order_by("name_key"))


def _project(request: HttpRequest) -> ChatProject | None:
    wanted = request.POST.get("project", "")
    project = project_find(cast(User, request.user), wanted) if wanted else None
    if wanted and project is None:
        raise Refusal.at("project", "project_not_found")
    return project


def _keep_known(view: dict[str, Any], request: HttpRequest) -> None:
    have = request.GET.get("have", "").split(".") if is_htmx(request) else []
    view["entries"] = [entry | {"keep": entry["v"] in have} for entry in view["entries"]]


def _sheet(
    request: HttpRequest, act: str, found: Conversation, refusal: Refusal | None = None, **more: Any
) -> HttpResponse:
    """Show one of the small dialogs: as a fragment over the page, or as a page of its own."""
    errors = {"title": [{"code": e.code, "text": say(e.code, e.params)} for e in refusal.fields]} if refusal else {}
    context = {"conversation": found, "fragment": is_htmx(request), "errors": errors, "back": _to(found.public_id)}
    template = f"chats/{act}.html#sheet" if is_htmx(request) else f"chats/{act}.html"
    response = render(request, template, context | more, status=refusal.status if refusal else 200)
    response[SWAP_HEADER] = "1"
    return response
