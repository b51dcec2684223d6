"""The edge of the web server: problem documents for the API, pages for people, headers for both."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from core.errors import Refusal
from core.panel import refused
from core.problems import CONTENT_TYPE, headers_of, problem_of, problem_response, refusal_of
from core.strict_json import StrictJSONParser
from core.text import has_nul

__all__ = [
    "JSONOnly",
    "SecurityHeadersMiddleware",
    "StrictJSONParser",
    "bad_request",
    "csrf_failure",
    "page_forbidden",
    "page_not_found",
    "problem_handler",
    "problem_of",
    "problem_response",
    "server_error",
]

log = logging.getLogger(__name__)

API_PREFIX = "/api/"


def policy(**changes: str) -> str:
    """Return the Content-Security-Policy: everything from here, nothing inline, framed by nobody unless configured.

    `changes` replaces directives (underscores for hyphens) for a page whose library needs a wider one.
    """
    ancestors = " ".join(settings.FRAME_ANCESTORS) or "'none'"
    directives = {
        "default-src": "'self'",
        "img-src": "'self'",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": ancestors,
    }
    directives |= {name.replace("_", "-"): value for name, value in changes.items()}
    return "; ".join(f"{name} {value}" for name, value in directives.items())


class SecurityHeadersMiddleware:
    """Set the strict Content-Security-Policy, unless the view set its own, and what browsers may not share.

    An address with NUL is answered here: it names nothing, and PostgreSQL cannot even be asked for it.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        self.asynchronous = iscoroutinefunction(get_response)
        if self.asynchronous:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if has_nul(request.path) or (not _is_api(request) and "%00" in request.META.get("QUERY_STRING", "")):
            return self._at_once(request) if self.asynchronous else self._marked(request, bad_address(request))
        response = self.get_response(request)
        if isinstance(response, HttpResponseBase):
            return self._marked(request, response)
        return self._later(request, response)

    async def _at_once(self, request: HttpRequest) -> HttpResponseBase:
        return self._marked(request, bad_address(request))

    async def _later(self, request: HttpRequest, response: Awaitable[HttpResponseBase]) -> HttpResponseBase:
        return self._marked(request, await response)

    @staticmethod
    def _marked(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", policy())
        response.headers.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        if _is_api(request):
            response.headers.setdefault("Cache-Control", "no-store")
        return response


class JSONOnly(BaseContentNegotiation):
    """The API answers JSON whatever `Accept` says: a browser that opens an address of the API reads it too."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        wanted = (request.content_type or "").split(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == wanted), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type or "application/json"


def problem_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Answer an error of an API view as a problem document (RFC 9457); None lets an unforeseen one become a 500."""
    refusal = refusal_of(error)
    if refusal is None:
        return None
    headers = headers_of(refusal)
    if refusal.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="quotidian"'
    return Response(problem_of(refusal), status=refusal.status, headers=headers, content_type=CONTENT_TYPE)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith(API_PREFIX)


def bad_address(request: HttpRequest) -> HttpResponse:
    """Answer an address that no database can be asked for, without asking one."""
    if _is_api(request):
        return problem_response(Refusal("not_found"))
    return HttpResponse("There is nothing here.", status=404, content_type="text/plain; charset=utf-8")


def answer(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Answer `refusal` in the form the asker reads: a problem document under `/api/`, else a page or a fragment."""
    if _is_api(request):
        return problem_response(refusal)
    return refused(request, refusal)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Say in words that the form's token is no longer valid; nothing of a form is lost by it (B88)."""
    return answer(request, Refusal("csrf_failed"))


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an address that leads nowhere."""
    return answer(request, Refusal("not_found"))


def page_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what a person may not see."""
    return answer(request, Refusal("permission_denied"))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that could not be read."""
    if _is_api(request):
        return problem_response(Refusal("body_unreadable", expected="a request"))
    return HttpResponse("This request cannot be read.", status=400, content_type="text/plain; charset=utf-8")


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an error that nobody foresaw, without its text; a page that cannot be rendered becomes one sentence."""
    refusal = Refusal("internal")
    if _is_api(request):
        return problem_response(refusal)
    try:
        return refused(request, refusal)
    except Exception:
        log.exception("the error page cannot be rendered")
        return HttpResponse(refusal.text, status=500, content_type="text/plain; charset=utf-8")
