"""One answer of the fake provider, written piece by piece, and the bytes of HTTP that it needs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Protocol

from bench import provider_behaviours as behaviours
from bench.provider_dialects import Asked, OpenAI

_REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
_LONE_SURROGATES = [r'"a\u0000b \ud83d"', r'"\ude00 \ud800 end"']


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", f"Date: {formatdate(usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(status: int, body: bytes, kind: str = "application/json", **headers: str) -> bytes:
    """A response with its whole body; header names with ``_`` for ``-``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return _head(status, {"Content-Type": kind, "Content-Length": str(len(body)), **named}) + body


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Done(Protocol):
    """Told once when the answer has ended."""

    def __call__(self, outcome: str, close: bool = False) -> None: ...


class Answer:
    """One request being answered piece by piece."""

    def __init__(self, transport: asyncio.Transport, done: Done, asked: Asked, dialect: OpenAI) -> None:
        self.transport, self.done, self.asked, self.dialect, self.sent = transport, done, asked, dialect, 0
        script = self.script = dialect.script
        self.loop = asyncio.get_running_loop()
        texts = behaviours.pieces(asked.prompt, script.chunks)
        self.frames = [_chunked(dialect.thought("hm ")) for _ in range(script.thinking)]
        if script.thinking and dialect.between():
            self.frames[-1] += _chunked(dialect.between())
        self.frames += [_chunked(dialect.text(text)) for text in texts]
        if script.dirty:
            plain = dialect.text("@").split(b'"@"')
            self.frames[script.thinking :] = [_chunked(plain[0] + t.encode() + plain[1]) for t in _LONE_SURROGATES]
        self.timer: asyncio.TimerHandle = self.loop.call_later(script.first_delay, self.begin)

    def begin(self) -> None:
        """The first bytes: a whole answer for the plain failures, else the head of a stream."""
        asked_wrongly = WHOLE.get(self.script.body)
        if asked_wrongly:
            self.transport.write(asked_wrongly(self))
            self.done("told to fail", close=self.script.body in ("nothttp", "disconnect"))
            return
        head = _head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        opening = self.dialect.opening()
        self.transport.write(head + (_chunked(opening) if opening else b""))
        self.next = self.loop.time()
        self.step()

    def step(self) -> None:
        """Write what is due: one piece, or several after a stall of the loop."""
        now, out = self.loop.time(), []
        while self.sent < len(self.frames) and self.next <= now:
            out.append(self.frames[self.sent])
            self.sent += 1
            self.next += self.script.interval
        if self.sent < len(self.frames):
            if out:
                self.transport.write(b"".join(out))
            self.timer = self.loop.call_at(self.next, self.step)
            return
        self.end(b"".join(out))

    def end(self, out: bytes) -> None:
        """The way the script says a stream ends."""
        ending, write = self.script.ending, self.transport.write
        if ending == "cut":
            write(out + b'40\r\ndata: {"torn')
            self.done("cut", close=True)
        elif ending == "stall":
            write(out)
        elif ending == "cut-clean":
            write(out + b"0\r\n\r\n")
            self.done("cut-clean")
        elif ending == "error-stall":
            write(out + _chunked(self.dialect.error_event(self.script.error_code)))
        elif ending == "error-in-stream":
            write(out + _chunked(self.dialect.error_event(self.script.error_code)) + b"0\r\n\r\n")
            self.done("error-in-stream")
        else:
            write(out + _chunked(self.dialect.closing(self.sent)) + b"0\r\n\r\n")
            self.done("finished")

    def failure(self) -> bytes:
        """An error status with its body and, when told, ``Retry-After``."""
        script = self.script
        headers = {}
        if script.retry_after is not None:
            wait = script.retry_after
            headers["Retry_After"] = (
                formatdate(time.time() + wait, usegmt=True) if script.retry_as_date else f"{wait:g}"
            )
        message = f"The fake provider was told to answer {script.status}."
        if script.status == 401:
            message = f"Incorrect API key provided: {self.asked.key}."
        return whole(script.status, json.dumps(self.dialect.error(script.error_code, message)).encode(), **headers)

    def whole(self) -> bytes:
        """A completion in one piece."""
        text = behaviours.answer_text(self.asked.prompt, self.script.chunks)
        self.sent = self.script.chunks
        return whole(200, json.dumps(self.dialect.whole(text, self.sent)).encode())


_NONSENSE = b"data: %%% not json %%%\n\n"
WHOLE: dict[str, Callable[[Answer], bytes]] = {
    "error": Answer.failure,
    "json": Answer.whole,
    "html": lambda _: whole(200, b"<!doctype html><title>Welcome</title><p>Sign in</p>", "text/html"),
    "garbage": lambda _: whole(200, _NONSENSE * 3, "text/event-stream"),
    "notchunks": lambda _: whole(200, b'data: [1, 2]\n\ndata: "x"\n\n', "text/event-stream"),
    "redirect": lambda _: whole(302, b"", Location="http://127.0.0.1:9/elsewhere"),
    "nothttp": lambda _: b"\x00\x01\x02 this is not HTTP\r\n\r\n",
    "disconnect": lambda _: b"",
}
