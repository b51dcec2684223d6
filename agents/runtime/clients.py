"""HTTP clients and SDK providers, one per address, key and connect timeout on each event loop."""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
import weakref
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import get_user_agent

from agents.runtime.sse import Dialect
from agents.runtime.transport import StreamTransport
from agents.runtime.types import ModelSpec

_DIALECTS: dict[str, Dialect] = {"openai": "openai", "local": "openai", "anthropic": "anthropic"}
_DEFAULT_ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}
_LONGEST = 4000.0


@dataclass
class Client:
    """An HTTP client and what was built on it: the SDK's provider and one model object per model name."""

    http: httpx2.AsyncClient
    base_url: str
    provider: Any = None
    models: dict[str, Any] = field(default_factory=dict)


_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[object, ...], Client]] = (
    weakref.WeakKeyDictionary()
)


@cache
def ssl_context() -> ssl.SSLContext:
    """The one TLS context of this process: building it costs some 20 ms, so it is made before a fork."""
    return httpx2.create_ssl_context()


def client_for(spec: ModelSpec) -> Client:
    """The client of the running event loop for this address, key and connect timeout."""
    ours = _clients.setdefault(asyncio.get_running_loop(), {})
    key = (spec.kind, spec.base_url, spec.api_key, spec.connect_timeout)
    if key not in ours:
        base_url = spec.base_url or _DEFAULT_ADDRESSES.get(spec.kind, "")
        ours[key] = Client(_http_client(spec, base_url), base_url)
    return ours[key]


async def close_clients() -> None:
    """Close every client of the running event loop."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.http.aclose()


def _http_client(spec: ModelSpec, base_url: str) -> httpx2.AsyncClient:
    transport = StreamTransport(
        ssl_context=ssl_context(),
        dialect=_DIALECTS.get(spec.kind),
        connect_timeout=spec.connect_timeout,
        proxy=proxy_for(base_url),
    )
    return httpx2.AsyncClient(
        transport=transport,
        timeout=httpx2.Timeout(_LONGEST, connect=spec.connect_timeout),
        headers={"User-Agent": get_user_agent(), "Accept-Encoding": "identity"},
        follow_redirects=False,
    )


def proxy_for(base_url: str) -> str | None:
    """The proxy that the environment (``HTTPS_PROXY``, ``HTTP_PROXY``, ``NO_PROXY``) names for an address.

    Never for this machine itself: the local model's server listens there.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or urllib.request.proxy_bypass(parts.netloc):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    return found if found and found.partition("://")[0] in ("http", "https") else None
