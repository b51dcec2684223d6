"""A fake provider and short ways to ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from agents.runtime.generate import aclose, generate
from agents.runtime.types import Answer, ModelFailure, ModelSpec, Said
from tests.fakes.provider import FakeProvider, fake_provider

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(scope="session")
def shared_provider() -> Iterator[FakeProvider]:
    with fake_provider() as running:
        yield running


@pytest.fixture
def provider(shared_provider: FakeProvider) -> FakeProvider:
    shared_provider.become(None)
    return shared_provider


@dataclass
class Outcome:
    """What came of one call: an answer or a failure, and the pieces of text that were handed out."""

    answer: Answer | None = None
    failure: ModelFailure | None = None
    pieces: list[str] = field(default_factory=list)

    @property
    def given(self) -> str:
        return "".join(self.pieces)


Ask = Callable[..., Outcome]


def spec_for(provider: FakeProvider, model: str = "ok", **changes: Any) -> ModelSpec:
    """A spec for the fake provider; Anthropic's and Gemini's dialects have the address without a path."""
    kind = changes.get("kind", "openai")
    base_url = provider.url if kind == "openai" else provider.root
    values: dict[str, Any] = {
        "kind": "openai",
        "model": model,
        "base_url": base_url,
        "api_key": KEY,
        "instructions": "",
        "temperature": None,
        "max_output_tokens": None,
        "context_window": None,
        "request_timeout": 20.0,
    }
    return ModelSpec(**(values | changes))


async def call(spec: ModelSpec, prompt: str = "hello", history: Sequence[Said] = ()) -> Outcome:
    """One call, with what came of it."""
    outcome = Outcome()
    try:
        outcome.answer = await generate(spec, history, prompt, on_text=outcome.pieces.append)
    except ModelFailure as failure:
        outcome.failure = failure
    return outcome


def shape(failure: ModelFailure | None) -> tuple[str, str, bool, str]:
    """Code, certainty, retryable and text of a failure, for comparing with a row of a table."""
    assert failure is not None
    return failure.code, failure.certainty, failure.retryable, failure.text


@pytest.fixture
def ask(provider: FakeProvider) -> Ask:
    """Ask the fake provider once, on an event loop of its own."""

    def run(model: str = "ok", prompt: str = "hello", history: Sequence[Said] = (), **changes: Any) -> Outcome:
        async def main() -> Outcome:
            try:
                return await call(spec_for(provider, model, **changes), prompt, history)
            finally:
                await aclose()

        return asyncio.run(main())

    return run
