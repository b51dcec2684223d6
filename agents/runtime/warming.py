"""Before a fork: load and exercise what every worker needs, so that they share it instead of each making its own."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterable
from contextlib import suppress

from agents.runtime import builders, clients
from agents.runtime.generate import aclose, generate
from agents.runtime.types import ModelFailure, ModelSpec

_CHUNKS = (
    '{"id":"1","object":"chat.completion.chunk","created":1,"model":"warm","choices":[{"index":0,'
    '"delta":{"role":"assistant","content":"Ready."},"finish_reason":null}]}',
    '{"id":"1","object":"chat.completion.chunk","created":1,"model":"warm","choices":[{"index":0,"delta":{},'
    '"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
    "[DONE]",
)


def warm(kinds: Iterable[str] = ("openai", "anthropic", "google")) -> None:
    """Import the libraries, make the TLS context, answer one prompt, settle and freeze the heap.

    Takes some seconds once and saves each worker 70 MB and as many seconds. ``kinds`` are the kinds of provider in
    use; another one is imported, in a thread, when it is first asked. Not to be called inside a running event loop.
    """
    kinds = set(kinds)
    for kind in kinds:
        builders.load(kind)
    clients.ssl_context()
    if kinds & {"openai", "local"}:
        with suppress(ModelFailure, OSError):  # it is only meant to save time
            asyncio.run(_answer())
    gc.collect()
    gc.freeze()


async def _answer() -> None:
    """The library builds its schemas when they are first used: use them once, by a server that says one word."""
    server = await asyncio.start_server(_say_ready, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        spec = ModelSpec(
            kind="openai", model="warm", base_url=f"http://127.0.0.1:{port}/v1", api_key=None, instructions="",
            temperature=None, max_output_tokens=None, context_window=None, request_timeout=5,
        )  # fmt: skip
        try:
            await generate(spec, (), "ready?", on_text=lambda _: None)
        finally:
            await aclose()


async def _say_ready(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    await reader.readexactly(length)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    writer.write("".join(f"data: {chunk}\n\n" for chunk in _CHUNKS).encode())
    await writer.drain()
    writer.close()
