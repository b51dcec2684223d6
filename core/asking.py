"""From where something is asked for: the source and the request id that the audit log notes beside an act."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER = "X-Request-ID"
_GIVEN = re.compile(r"[A-Za-z0-9._-]{8,64}")
_PREFIXES = {"/admin/": "admin", "/api/": "api"}


@dataclass(frozen=True)
class Asking:
    """Where an act comes from: `admin`, `panel`, `api`, `command`, or `system` when nobody asked."""

    source: str
    request_id: str = ""


NOBODY = Asking("system")
_asking: ContextVar[Asking] = ContextVar("asking", default=NOBODY)


def asking() -> Asking:
    """Return where the act that runs now comes from."""
    return _asking.get()


@contextmanager
def asked_by(source: str, request_id: str = "") -> Iterator[None]:
    """Have everything inside the block noted as coming from `source`."""
    token = _asking.set(Asking(source, request_id))
    try:
        yield
    finally:
        _asking.reset(token)


class AskingMiddleware:
    """Give each request an id, the proxy's (`X-Request-ID`) where it sent a usable one, and answer with it."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        self.asynchronous = iscoroutinefunction(get_response)
        if self.asynchronous:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.asynchronous:
            return self._later(request)
        source, request_id = _of(request)
        with asked_by(source, request_id):
            response = self.get_response(request)
        assert isinstance(response, HttpResponseBase)
        response.headers[HEADER] = request_id
        return response

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        source, request_id = _of(request)
        with asked_by(source, request_id):
            response = await self.get_response(request)  # type: ignore[misc]
        response.headers[HEADER] = request_id
        return response


def _of(request: HttpRequest) -> tuple[str, str]:
    source = next((name for prefix, name in _PREFIXES.items() if request.path.startswith(prefix)), "panel")
    given = request.headers.get(HEADER, "")
    return source, given if _GIVEN.fullmatch(given) else uuid.uuid4().hex
