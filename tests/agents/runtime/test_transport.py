"""Pacing and closing: cheap in the middle of a stream, prompt at both of its ends."""

from __future__ import annotations

import asyncio
import time

import pytest

from agents.runtime import transport
from agents.runtime.generate import aclose, generate
from agents.runtime.transport import PACE, Pace
from tests.agents.runtime.conftest import Ask, call, spec_for
from tests.fakes.provider import FakeProvider, answer_text


def paced(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(transport.Pace, "seconds", lambda _: seconds)


@pytest.mark.parametrize(("live", "seconds"), [(1, 0.15), (49, 0.15), (50, 0.4), (300, 0.4), (301, 1.0)])
def test_the_more_streams_are_live_the_rarer_each_is_read(live: int, seconds: float) -> None:
    pace = Pace()
    pace.live = live
    assert pace.seconds() == seconds


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_paced_stream_comes_whole_in_few_pieces(ask: Ask, kind: str) -> None:
    outcome = ask("stream-120x5ms", kind=kind)
    assert outcome.answer is not None
    assert outcome.answer.text == answer_text("hello", 120)
    assert len(outcome.pieces) <= 12


def test_the_first_text_is_never_delayed(monkeypatch: pytest.MonkeyPatch, provider: FakeProvider) -> None:
    """With a pace of a minute the first text still comes at once; what follows waits for its read."""
    paced(monkeypatch, 60.0)

    async def main() -> float:
        came = asyncio.Event()
        start = time.monotonic()
        spec = spec_for(provider, "slow-0.1+stream-50x20ms")
        task = asyncio.create_task(generate(spec, [], "first", on_text=lambda _: came.set()))
        await asyncio.wait_for(came.wait(), 10)
        waited = time.monotonic() - start
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await aclose()
        return waited

    asyncio.run(main())
    assert asyncio.run(main()) < 1.0


def test_a_short_answer_is_not_paced_at_all(monkeypatch: pytest.MonkeyPatch, ask: Ask) -> None:
    """An answer that came in one read ends with it, finish reason, usage and all."""
    paced(monkeypatch, 60.0)
    start = time.monotonic()
    assert ask("stream-5x0ms").answer is not None
    assert time.monotonic() - start < 10


def test_the_next_request_on_a_connection_starts_unpaced(
    monkeypatch: pytest.MonkeyPatch, provider: FakeProvider
) -> None:
    async def main() -> float:
        paced(monkeypatch, 0.2)
        assert (await call(spec_for(provider, "stream-30x5ms"))).answer
        paced(monkeypatch, 60.0)
        start = time.monotonic()
        assert (await call(spec_for(provider, "stream-5x0ms"))).answer
        await aclose()
        return time.monotonic() - start

    assert asyncio.run(main()) < 10


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_cancelling_closes_the_providers_stream_at_once_and_keeps_the_text(
    monkeypatch: pytest.MonkeyPatch, provider: FakeProvider, kind: str
) -> None:
    """Stop: closes the stream, keeps what came; also in the middle of a pause between two reads."""
    paced(monkeypatch, 60.0)
    prompt = f"stop me {kind}"
    given: list[str] = []

    async def main() -> float:
        came = asyncio.Event()

        def on_text(piece: str) -> None:
            given.append(piece)
            came.set()

        spec = spec_for(provider, "stream-1000x10ms", kind=kind)
        task = asyncio.create_task(generate(spec, [], prompt, on_text=on_text))
        await asyncio.wait_for(came.wait(), 20)
        start = time.monotonic()
        task.cancel()
        assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
        took = time.monotonic() - start
        await aclose()
        return took

    assert asyncio.run(main()) < 0.5
    [request] = provider.requests(prompt)
    assert provider.outcome(request["id"], within=1.0)["outcome"] == "aborted"
    assert answer_text(prompt, 1000).startswith("".join(given))
    assert PACE.live == 0


@pytest.mark.parametrize("behaviour", ["slow-20", "stall-2"])
def test_a_deadline_closes_the_providers_stream(ask: Ask, provider: FakeProvider, behaviour: str) -> None:
    """R27: capacity is free again, at the provider too."""
    prompt = f"deadline {behaviour}"
    ask(behaviour, prompt=prompt, request_timeout=0.3)
    [request] = provider.requests(prompt)
    assert provider.outcome(request["id"], within=1.0)["outcome"] == "aborted"
    assert PACE.live == 0


def test_no_failure_leaves_a_stream_open(ask: Ask, provider: FakeProvider) -> None:
    for kind in ("openai", "anthropic", "google"):
        for behaviour in ("garbage", "html", "cut-3", "error-in-stream-3", "status-500"):
            assert ask(behaviour, kind=kind).failure is not None
    assert provider.live() == 0
    assert PACE.live == 0


def test_one_client_carries_many_streams_at_once(provider: FakeProvider) -> None:
    """One worker process must carry hundreds: a hundred on one client, all answered, most of them at once."""

    async def main() -> None:
        spec = spec_for(provider, "slow-1.5+stream-3x10ms")
        outcomes = await asyncio.gather(*(call(spec, f"many {i}") for i in range(100)))
        await aclose()
        texts = [outcome.answer.text if outcome.answer else outcome.failure for outcome in outcomes]
        assert texts == [answer_text(f"many {i}", 3) for i in range(100)]

    asyncio.run(main())
    assert provider.most() >= 90
