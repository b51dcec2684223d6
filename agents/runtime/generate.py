"""One model call: history and prompt in, text as it comes, an ``Answer`` or a ``ModelFailure`` at the end.

The only function that the rest of the product calls to reach a model. It knows no database and no Django, so it can
be warmed before a fork and tested against a server alone.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)

from agents.runtime import builders, clients, failures, transcript, window
from agents.runtime.failures import Received
from agents.runtime.text import TextCleaner, estimate_tokens
from agents.runtime.transport import PACE, Witness, current_witness
from agents.runtime.types import Answer, ModelFailure, ModelSpec, Said, Usage

__all__ = ["LIBRARY_VERSION", "aclose", "estimate_tokens", "generate", "make_room", "tune_gc"]

LIBRARY_VERSION = f"pydantic-ai {version('pydantic-ai-slim')}"
MAX_ANSWER = 2_000_000
"""Characters of one answer above which the provider is taken for broken."""


async def generate(
    spec: ModelSpec,
    history: Sequence[Said],
    prompt: str,
    *,
    on_text: Callable[[str], None],
    on_sent: Callable[[], None] | None = None,
) -> Answer:
    """Ask the model once and stream its answer.

    ``on_text`` gets each new piece of text, storable (no NUL, no lone surrogate), on the event loop; it must not
    block. Cancelling the task closes the provider's stream; the caller then has all text that came. ``on_sent`` is
    called when the request is built and leaves, if it comes so far.

    Raises ``ModelFailure`` for everything but a finished answer, and whatever ``on_text`` raises.
    """
    call = _Call(spec, on_text)
    if on_sent is not None:
        call.witness.on_sent = on_sent
    token = current_witness.set(call.witness)
    try:
        return await call.run(history, prompt)
    finally:
        current_witness.reset(token)
        await call.witness.close()


def _refuse_what_cannot_be_asked(spec: ModelSpec) -> None:
    if spec.request_timeout <= 0:
        raise ModelFailure("deadline", certainty="definite", retryable=False)
    if spec.kind == "local" and not spec.base_url:
        detail = "the local model's server does not run on this machine"
        raise ModelFailure("provider_unreachable", certainty="definite", retryable=True, detail=detail)
    if spec.api_key and not (spec.api_key.isascii() and spec.api_key.isprintable()):
        detail = "the key holds characters that no key has"
        raise ModelFailure("provider_auth", certainty="definite", retryable=False, detail=detail)


class _Call:
    """One call's state: what came so far, and what the transport saw."""

    def __init__(self, spec: ModelSpec, on_text: Callable[[str], None]) -> None:
        self.spec, self.on_text = spec, on_text
        self.witness, self.cleaner = Witness(), TextCleaner()
        self.pieces: list[str] = []
        self.length = 0
        self.anything = False
        self.asked_tokens = 0
        self.callers_error: Exception | None = None
        self.response: ModelResponse | None = None

    async def run(self, history: Sequence[Said], prompt: str) -> Answer:
        spec = self.spec
        _refuse_what_cannot_be_asked(spec)
        kept, left_out = window.fit_history(spec, history, prompt)
        instructions = builders.instructions(spec)
        if left_out:
            instructions = f"{instructions}\n\n{window.LEFT_OUT.format(count=left_out)}".strip()
        self.asked_tokens = estimate_tokens(instructions + prompt) + sum(estimate_tokens(s.text) for s in kept)
        asked = ModelRequest(parts=[UserPromptPart(prompt)], instructions=instructions or None)
        try:
            await self._stream([*transcript.to_messages(kept), asked])
        except (ModelFailure, asyncio.CancelledError):
            raise
        except Exception as error:
            if error is self.callers_error:
                raise
            raise failures.from_exception(error, spec, self.received(), self.witness) from error
        return self._answer()

    async def _stream(self, messages: list[ModelMessage]) -> None:
        """One request to the model: the library's agent loop costs as much again and has nothing to add (ADR 7)."""
        if not builders.loaded(self.spec.kind):
            await asyncio.to_thread(builders.load, self.spec.kind)
        model, settings = builders.build(self.spec), builders.settings(self.spec)
        if self.spec.kind == "demo":  # it sends nothing to anybody
            self.witness.on_sent()
        async with model_request_stream(model, messages, model_settings=settings, instrument=False) as events:
            async for event in events:
                self._event(event)
            self.response = events.get()
        self._flush()
        self._check_end()

    def _event(self, event: Any) -> None:
        if isinstance(event, PartStartEvent):
            self.anything = True
            if isinstance(event.part, TextPart):
                self._text(event.part.content)
        elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            self._text(event.delta.content_delta)

    def _text(self, piece: str) -> None:
        self._give(self.cleaner.feed(piece))

    def _flush(self) -> None:
        self._give(self.cleaner.finish())

    def _give(self, piece: str) -> None:
        if not piece:
            return
        self.pieces.append(piece)
        self.length += len(piece)
        try:
            self.on_text(piece)
        except Exception as error:
            self.callers_error = error
            raise
        if self.length > MAX_ANSWER:
            raise failures.failure("provider_garbage", self.spec, self.received(), "the answer is too long")

    def _check_end(self) -> None:
        """An error that the library turned into a finish reason is an error (never a success)."""
        assert self.response is not None
        if self.spec.kind == "demo":
            return
        raw = (self.response.provider_details or {}).get("finish_reason")
        found = failures.finish_failure(
            self.response.finish_reason, str(raw) if raw else None, self.spec, self.received()
        )
        if found:
            raise found

    def _answer(self) -> Answer:
        assert self.response is not None
        raw = str((self.response.provider_details or {}).get("finish_reason") or "").lower()
        usage = self.usage()
        return Answer(
            text="".join(self.pieces),
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            output_tokens=usage.output_tokens,
            usage_estimated=usage.estimated,
            cut=self.response.finish_reason == "length" or raw in ("max_tokens", "length"),
            messages_json=transcript.dump([self.response]),
            library_version=LIBRARY_VERSION,
        )

    def received(self) -> Received:
        """What had come when a failure is made of it."""
        return Received("".join(self.pieces), self.anything, self.usage())

    def usage(self) -> Usage:
        """The provider's figures, else estimates of what was sent and received."""
        reported = self.response.usage if self.response else None
        if reported and (reported.input_tokens or reported.output_tokens) and self.spec.kind != "demo":
            return Usage(reported.input_tokens, reported.cache_read_tokens, reported.output_tokens)
        if not self.anything and self.witness.status != 200:
            return Usage()
        return Usage(self.asked_tokens, 0, estimate_tokens("".join(self.pieces)), estimated=True)


def make_room(wanted: bool) -> None:
    """While many calls are about to start, read the streams that run more rarely, so that the others start sooner."""
    PACE.starting = wanted


def tune_gc() -> None:
    """In a process that carries many streams: collect rarely, as each pass looks at the objects of all streams."""
    gc.set_threshold(50_000, 20, 100)


async def aclose() -> None:
    """Close the HTTP clients of the running event loop."""
    await clients.close_clients()
