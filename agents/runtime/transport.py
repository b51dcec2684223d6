"""The HTTP transport below every provider's SDK: paced reads and merged events.

Measured with 500 streams on one core, this is what takes a stream's cost from the price of its tokens to the price
of its reads. After the first text of a stream its socket is read every 150 to 1,000 ms (the more streams are live,
the rarer), the kernel gathers meanwhile, and each read becomes one event per kind of text. HTTP/1.1 only: one paced
HTTP/2 socket would pace all of its streams.
"""

from __future__ import annotations

import asyncio
import contextvars
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpcore2
import httpx2

from agents.runtime.sse import DeltaMerger, Dialect

MAX_CONNECTIONS = 1500
KEPT_ALIVE = 10
KEPT_ALIVE_SECONDS = 30.0
WRITE_TIMEOUT = 60.0
MAX_STREAM_BYTES = 32_000_000
MAX_ERROR_BYTES = 1_000_000


class StreamTooLarge(httpx2.RemoteProtocolError):
    """A provider sent more than one answer may hold."""


def _nobody() -> None:
    """Tell nobody."""


@dataclass
class Witness:
    """What the transport saw of one call, for telling failures apart."""

    status: int = 0
    content_type: str = ""
    received: int = 0
    events: int = 0
    merged: bool = False
    nonsense: bool = False
    not_http: bool = False
    bodies: list[Body] = field(default_factory=list)
    on_sent: Callable[[], None] = _nobody
    """Called as the request leaves, before its connection is made."""

    async def close(self) -> None:
        """Close what an SDK left open, so that no stream outlives its call."""
        for body in self.bodies:
            await body.aclose()

    def is_event_stream(self) -> bool:
        """Whether the response calls itself one."""
        return self.content_type.partition(";")[0].strip().lower() == "text/event-stream"

    def unreadable(self) -> bool:
        """Whether the provider answered with something that is no stream of completions at all."""
        if self.nonsense or self.not_http:
            return True
        silent = self.received > 0 and not self.events and (self.merged or not self.is_event_stream())
        return self.status == 200 and silent


current_witness: contextvars.ContextVar[Witness | None] = contextvars.ContextVar("witness", default=None)


class Pace:
    """How long a stream's socket rests between two reads, by the number of live streams of this process."""

    def __init__(self) -> None:
        self.live = 0
        self.starting = False

    def seconds(self) -> float:
        """150 ms below 50 live streams, 400 ms up to 100; 1 s above, and above 50 while more are about to start."""
        if self.live < 50:
            return 0.15
        return 0.4 if self.live <= 100 and not self.starting else 1.0


PACE = Pace()


class PacedStream(httpcore2.AsyncNetworkStream):
    """A socket that, while ``paced``, is read no more often than ``PACE`` says."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self.inner, self.paced, self._last = inner, False, 0.0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self.paced:
            rest = self._last + PACE.seconds() - time.monotonic()
            if rest > 0:
                await asyncio.sleep(rest)
        data = await self.inner.read(max_bytes, timeout)
        self._last = time.monotonic()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self.inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return PacedStream(await self.inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self.inner.get_extra_info(info)


class PacedBackend(httpcore2.AnyIOBackend):
    """Connections whose reads can be paced."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        stream = await super().connect_tcp(host, port, timeout, local_address, socket_options)
        return PacedStream(stream)


@contextmanager
def _httpx_errors() -> Iterator[None]:
    """Raise httpcore's errors as httpx's of the same name, which is what the SDKs know."""
    try:
        yield
    except Exception as error:
        for cls in type(error).__mro__ if type(error).__module__.startswith("httpcore2") else ():
            known = getattr(httpx2, cls.__name__, None)
            if isinstance(known, type) and issubclass(known, httpx2.TransportError):
                raise known(str(error)) from error
        raise


class Body(httpx2.AsyncByteStream):
    """A response body, handed on once per read of the socket; what came is handed on before any error.

    A task of its own reads, so that everything that one read of the socket brought is together before its consumer
    sees it: the reader runs without a pause until it must wait for the network, and only then does the consumer wake.
    With a ``merger`` the events are merged, and the socket is paced once there was text.
    """

    def __init__(
        self, inner: Any, witness: Witness, merger: DeltaMerger | None = None, socket: PacedStream | None = None
    ) -> None:
        self._inner, self._witness, self._merger, self._socket = inner, witness, merger, socket
        self._most = MAX_STREAM_BYTES if witness.status == 200 else MAX_ERROR_BYTES
        self._ready: list[bytes] = []
        self._wake = asyncio.Event()
        self._error: Exception | None = None
        self._done = False
        self._reader: asyncio.Task[None] | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._reader is None:
            PACE.live += 1
            self._reader = asyncio.create_task(self._read())
        while True:
            if not self._done:  # who asks again after the end, as an SDK that drains does, is not left to wait
                await self._wake.wait()
            self._wake.clear()
            done = self._done
            out, self._ready = self._ready, []
            if self._merger is not None:
                out += self._merger.take(final=done)
                self._note(self._merger)
            if out:
                yield b"".join(out)
            if done:
                if self._error is not None:
                    raise self._error
                return

    def _note(self, merger: DeltaMerger) -> None:
        self._witness.events, self._witness.nonsense = merger.events, merger.nonsense
        if self._socket is not None:
            self._socket.paced = merger.saw_text and not merger.ended

    async def _read(self) -> None:
        try:
            with _httpx_errors():
                async for part in self._inner:
                    self._witness.received += len(part)
                    if self._witness.received > self._most:
                        raise StreamTooLarge("the provider sends more than an answer may hold")
                    if self._merger is not None:
                        self._merger.feed(part, self._ready)
                    else:
                        self._ready.append(part)
                    self._wake.set()
        except Exception as error:  # noqa: BLE001 -- raised by the consumer, after what came before it
            self._error = error
        finally:
            self._done = True
            self._wake.set()

    async def aclose(self) -> None:
        """End the reader and the connection's use. May be called twice."""
        if self._socket is not None:
            self._socket.paced = False
        reader, self._reader = self._reader, None
        if reader is not None:
            PACE.live -= 1
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
        await self._inner.aclose()


class StreamTransport(httpx2.AsyncBaseTransport):
    """Requests over a pool of paced connections. ``dialect`` None means: events are not merged, reads not paced.

    ``connect_timeout`` in seconds. There is no read timeout: first token and deadline are watched above.
    """

    def __init__(
        self, *, ssl_context: ssl.SSLContext, dialect: Dialect | None, connect_timeout: float, proxy: str | None = None
    ) -> None:
        self._dialect = dialect
        self._timeout = {"connect": connect_timeout, "pool": connect_timeout, "write": WRITE_TIMEOUT, "read": None}
        options: dict[str, Any] = {
            "ssl_context": ssl_context,
            "max_connections": MAX_CONNECTIONS,
            "max_keepalive_connections": KEPT_ALIVE,
            "keepalive_expiry": KEPT_ALIVE_SECONDS,
            "http1": True,
            "http2": False,
            "network_backend": PacedBackend(),
        }
        if proxy:
            via = httpx2.Proxy(proxy)
            options |= {"proxy_url": str(via.url), "proxy_auth": via.raw_auth}
            self._pool: httpcore2.AsyncConnectionPool = httpcore2.AsyncHTTPProxy(**options)
        else:
            self._pool = httpcore2.AsyncConnectionPool(**options)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        witness = current_witness.get() or Witness()
        witness.on_sent()
        url = request.url
        inner_request = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions={**request.extensions, "timeout": self._timeout},
        )
        with _httpx_errors():
            try:
                inner = await self._pool.handle_async_request(inner_request)
            except httpcore2.RemoteProtocolError as error:
                witness.not_http = "disconnected" not in str(error)
                raise
        headers = httpx2.Headers(inner.headers)
        witness.status, witness.content_type = inner.status, headers.get("content-type", "")
        body = self._body(inner, headers, witness)
        witness.bodies.append(body)
        return httpx2.Response(status_code=inner.status, headers=headers, stream=body, extensions=inner.extensions)

    def _body(self, inner: httpcore2.Response, headers: httpx2.Headers, witness: Witness) -> Body:
        coded = headers.get("content-encoding", "identity").lower() != "identity"
        if self._dialect is None or inner.status != 200 or not witness.is_event_stream() or coded:
            return Body(inner.stream, witness)
        witness.merged = True
        socket = inner.extensions.get("network_stream")
        paced = socket if isinstance(socket, PacedStream) else None
        return Body(inner.stream, witness, DeltaMerger(self._dialect), paced)

    async def aclose(self) -> None:
        await self._pool.aclose()
