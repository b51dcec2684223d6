"""The side panel: the page, and what changed on it since the last look."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.models import User
from core.panel import face, not_modified, reader_of, unchanged, watched
from schedules.outputs.panel import panel_view

PAGE = "schedules/panel.html"


@face
@require_safe
def panel(request: HttpRequest) -> HttpResponse:
    """`/panel/`: every schedule as a card. `?beside=1` leaves out the page around it, for a conversation."""
    beside = "beside" in request.GET
    context = {
        "panel": _view(request),
        "here": "schedules",
        "aside": beside,
        "searching": "search" in request.GET,
    }
    return render(request, f"{PAGE}#beside" if beside else PAGE, context)


@face
@require_safe
def updates(request: HttpRequest) -> HttpResponse:
    """Answer a look: 304 when nothing changed, else the list with only the changed cards written out."""
    view = _view(request)
    if unchanged(request, view["version"]):
        return not_modified(view["version"], view["every"])
    keep_known(view, request.GET.get("have", "").split("."))
    context = {"panel": view, "aside": "aside" in request.GET}
    return watched(render(request, f"{PAGE}#updates", context), view["version"], view["every"])


def _view(request: HttpRequest) -> dict[str, Any]:
    owner, query = cast(User, request.user), request.GET
    return panel_view(owner=owner, reader=reader_of(request), show=query.get("show", "all"), q=query.get("q", ""))


def keep_known(view: dict[str, Any], have: Collection[str]) -> None:
    """Mark the cards that the asker has in this very version: they keep their place and are not sent again."""
    for group in view["groups"]:
        group["cards"] = [card | {"keep": card["v"] in have} for card in group["cards"]]
