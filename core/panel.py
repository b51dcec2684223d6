"""What every page's view needs: sign-in first, refusals as pages or toasts, one way to answer a form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page

from core.clock import now as clock_now
from core.errors import Refusal
from core.human import Reader, say

View = Callable[..., HttpResponse]

SWAP_HEADER = "Quotidian-Swap"
"""Set on an answer with an error status whose body is meant to be shown in place."""

EVERY_HEADER = "Quotidian-Every"
"""Seconds until a page that watches should look again."""


def is_htmx(request: HttpRequest) -> bool:
    """Return whether a script asks for a fragment (and not the browser for a page)."""
    details = getattr(request, "htmx", None)
    return details is not None and bool(details) and not details.boosted and not details.history_restore_request


def face(view: View) -> View:
    """Let signed-in people through, and turn what a service refuses into a page, or a toast for a fragment."""

    @never_cache
    @gzip_page
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_authenticated:
            if is_htmx(request):
                return HttpResponse(say("not_signed_in"), status=401, content_type="text/plain; charset=utf-8")
            return redirect_to_login(request.get_full_path())
        try:
            return view(request, *args, **kwargs)
        except Refusal as refusal:
            return refused(request, refusal)
        except Http404:
            return refused(request, Refusal("not_found"))

    return wrapped


def reader_of(request: HttpRequest) -> Reader:
    """Return the person who reads, with the instant of this request (R9: asked once, at the edge)."""
    user: Any = request.user
    return Reader(clock_now(), user.zone or "UTC", user.clock, user.first_weekday)


def refused(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Say a refusal: as a toast over the page that asked by script, else as a page of its own."""
    text = say(refusal.code, refusal.params)
    if refusal.fields:
        text = " ".join(say(error.code, error.params) for error in refusal.fields)
    status = refusal.status
    if is_htmx(request):
        response = render(request, "parts/toast.html", {"text": text, "code": refusal.code}, status=status)
        response["HX-Reswap"] = "none"
        response[SWAP_HEADER] = "1"
    else:
        context = {"text": text, "code": refusal.code, "status": status}
        response = render(request, "problem.html", context, status=status)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def where_from(request: HttpRequest, otherwise: str) -> str:
    """Return the page that a form names in `next`, if it is one of ours, else `otherwise`."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    allowed = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=False)
    return wanted if allowed else otherwise


def done(
    request: HttpRequest,
    *,
    to: str,
    text: str = "",
    undo: str = "",
    events: Iterable[str] = ("changed",),
    leave: bool = False,
) -> HttpResponse:
    """Answer a form that worked: a toast and events for a script, else a redirect with the same words.

    `undo` is the address that takes it back by POST. `leave` says that the page asked from is gone, so that a script
    goes to `to` as well.
    """
    if not is_htmx(request) or leave:
        if text:
            messages.info(request, text, extra_tags=undo)
        if not is_htmx(request):
            return HttpResponseRedirect(to, status=303)
        return HttpResponse(status=204, headers={"HX-Redirect": to})
    response = render(request, "parts/toast.html", {"text": text, "undo": undo}) if text else HttpResponse(status=204)
    response["HX-Reswap"] = "none"
    response["HX-Trigger"] = json.dumps({event: {} for event in events})
    return response


def unchanged(request: HttpRequest, etag: str) -> bool:
    """Return whether the asker has this version already (`If-None-Match`, weak comparison)."""
    given = request.headers.get("If-None-Match", "")
    return f'"{etag}"' in (part.strip().removeprefix("W/") for part in given.split(","))


def not_modified(etag: str, every: float) -> HttpResponse:
    """Answer 304: nothing to show anew, look again in `every` seconds."""
    return HttpResponse(status=304, headers={"ETag": f'"{etag}"', EVERY_HEADER: str(every)})


def watched(response: HttpResponse, etag: str, every: float) -> HttpResponse:
    """Mark an answer with its version and when to look again."""
    response["ETag"] = f'"{etag}"'
    response[EVERY_HEADER] = str(every)
    return response
