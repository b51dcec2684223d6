"""A fake model provider: a real HTTP server on loopback that streams made-up answers and fails on request.

    python -m bench.provider --port 0 --log requests.jsonl --chunks 200 --interval 0.05

The first line printed is the port, the second the control port. ``POST /v1/chat/completions`` speaks OpenAI's
format, ``/v1/messages`` Anthropic's, ``/v1beta/models/NAME:streamGenerateContent`` Gemini's. What a request gets is
decided by the control port, else by ``[[...]]`` in the prompt, else by the model's name
(``bench.provider_behaviours`` lists the names).

Control port: ``POST /control {"behaviour": "status-503", "times": 1, "model": "ok"}`` (``times`` and ``model``
optional; ``"down"`` closes the listening socket and every connection, so that connecting is refused; ``null`` heals),
``GET /log`` (a list of what happened), ``GET /stats``.

One process carries a thousand streams: one timer and one write per piece of text, no task per connection.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import signal
import time
from pathlib import Path
from typing import Any

from bench import provider_behaviours as behaviours
from bench.provider_answer import Answer, whole
from bench.provider_behaviours import Behaviour
from bench.provider_dialects import Asked, dialect_for


class Provider:
    """The servers, the switch and the log. Every method runs on the event loop."""

    def __init__(self, defaults: Behaviour, log: Path | None = None) -> None:
        self.defaults, self.records = defaults, list[dict[str, Any]]()
        self.file = log.open("a", buffering=1) if log else None
        self.override: dict[str, Any] | None = None
        self.connections: set[Connection] = set()
        self.count = self.live = self.most = 0
        self.port = self.control_port = 0
        self.server: asyncio.Server | None = None
        self.control: asyncio.Server | None = None

    async def start(self, port: int = 0, control_port: int = 0) -> None:
        """Listen on loopback; 0 takes a free port."""
        loop = asyncio.get_running_loop()
        self.control = await loop.create_server(lambda: Connection(self), "127.0.0.1", control_port)
        self.control_port = self.control.sockets[0].getsockname()[1]
        self.port = port
        await self.up()

    async def up(self) -> None:
        """Accept requests (again), on the port used before."""
        if self.server is None:
            loop = asyncio.get_running_loop()
            self.server = await loop.create_server(lambda: Connection(self), "127.0.0.1", self.port, backlog=2048)
            self.port = self.server.sockets[0].getsockname()[1]

    def down(self) -> None:
        """Refuse connections and tear those that are open."""
        if self.server:
            self.server.close()
            self.server = None
        for connection in list(self.connections):
            if connection.local_port == self.port:
                connection.transport.abort()

    def close(self) -> None:
        """End everything."""
        self.down()
        if self.control:
            self.control.close()
        for connection in list(self.connections):
            connection.transport.abort()
        if self.file:
            self.file.close()

    def record(self, entry: dict[str, Any]) -> None:
        self.records.append(entry)
        if self.file and not self.file.closed:
            self.file.write(json.dumps(entry) + "\n")

    def script_for(self, asked: Asked) -> tuple[str, Behaviour]:
        """What this request gets: the switch, the prompt's directive, the model's name."""
        name = behaviours.directive(asked.prompt) or asked.model
        switch = self.override
        if switch and switch.get("model") in (None, asked.model):
            name = switch["behaviour"]
            if switch.get("times"):
                switch["times"] -= 1
                if not switch["times"]:
                    self.override = None
        return name, behaviours.behaviour(name, self.defaults)

    async def switch(self, order: dict[str, Any]) -> None:
        """Obey one control order; returns when it is in force."""
        name = order.get("behaviour")
        if name == "down":
            self.down()
            return
        await self.up()
        self.override = order if name else None


class Connection(asyncio.Protocol):
    """One client connection; requests on it are answered one after the other."""

    transport: asyncio.Transport

    def __init__(self, provider: Provider) -> None:
        self.provider, self.buffer, self.local_port = provider, b"", 0
        self.answer: Answer | None = None
        self.tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.local_port = transport.get_extra_info("sockname")[1]
        self.provider.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.provider.connections.discard(self)
        self.done("aborted")

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found or self.answer:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", 0))
        if len(rest) >= size:
            self.buffer = rest[size:]
            method, target, _ = first.split(" ")
            names = ("authorization", "x-api-key", "x-goog-api-key")
            key = next((headers[name] for name in names if name in headers), "").removeprefix("Bearer ")
            self.request(method, target.partition("?")[0], rest[:size], key)

    def request(self, method: str, path: str, body: bytes, key: str) -> None:
        """Dispatch one request."""
        provider = self.provider
        dialect = dialect_for(path)
        if method == "POST" and dialect:
            asked = dialect.read(path, json.loads(body))
            asked.key = key
            name, script = provider.script_for(asked)
            if not asked.stream and script.body == "events":
                script = behaviours.behaviour("json", script)
            provider.count += 1
            provider.live += 1
            provider.most = max(provider.most, provider.live)
            number = provider.count
            entry = {"event": "start", "id": number, "at": time.time(), "model": asked.model, "behaviour": name}
            said = {"prompt": asked.prompt, "messages": asked.messages, "settings": asked.settings}
            provider.record(entry | said)
            self.answer = Answer(self.transport, self.done, asked, dialect(asked, script, number))
        elif method == "POST" and path == "/control":
            task = asyncio.ensure_future(self.obey(json.loads(body)))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif method == "GET" and path in ("/log", "/stats"):
            stats = {"requests": provider.count, "live": provider.live, "most": provider.most}
            self.reply(200, provider.records if path == "/log" else stats)
        else:
            self.reply(404, {"error": {"message": "no such page", "code": "not_found"}})

    async def obey(self, order: dict[str, Any]) -> None:
        await self.provider.switch(order)
        self.reply(200, {"port": self.provider.port})

    def reply(self, status: int, data: Any) -> None:
        self.transport.write(whole(status, json.dumps(data).encode()))

    def done(self, outcome: str, close: bool = False) -> None:
        """The request on this connection has ended: log it, be ready for the next."""
        if self.answer:
            answer, self.answer = self.answer, None
            answer.timer.cancel()
            self.provider.live -= 1
            self.provider.record(
                {
                    "event": "end",
                    "id": answer.dialect.number,
                    "at": time.time(),
                    "chunks": answer.sent,
                    "outcome": outcome,
                }
            )
        if close:
            self.transport.close()


async def _serve(options: argparse.Namespace) -> None:
    defaults = Behaviour(chunks=options.chunks, interval=options.interval, first_delay=options.first_delay)
    provider = Provider(behaviours.behaviour(options.behaviour, defaults), options.log)
    await provider.start(options.port, options.control_port)
    print(provider.port, provider.control_port, sep="\n", flush=True)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    provider.close()


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="A fake model provider on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control-port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append one JSON line per start and end of a request")
    parser.add_argument("--chunks", type=int, default=8, help="pieces of text per answer")
    parser.add_argument("--interval", type=float, default=0.05, help="seconds between two pieces")
    parser.add_argument("--first-delay", type=float, default=0.0, help="seconds before the first piece")
    parser.add_argument("--behaviour", default="ok", help="what a request gets unless told otherwise")
    gc.set_threshold(100_000, 50, 100)
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()
