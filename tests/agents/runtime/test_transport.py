"""Pacing and closing: cheap in the middle of a stream, prompt at both of its ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpcore2
import pytest

from agents.runtime import transport
from agents.runtime.generate import aclose, generate
from agents.runtime.sse import DeltaMerger
from agents.runtime.transport import PACE, Body, Pace, PacedStream, Witness
from tests.agents.runtime.conftest import Ask, call, spec_for
from tests.fakes.provider import FakeProvider, answer_text


def paced(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(transport.Pace, "seconds", lambda _: seconds)


@pytest.mark.parametrize(("live", "seconds"), [(1, 0.15), (49, 0.15), (50, 0.4), (100, 0.4), (101, 1.0)])
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


class Inner:
    """A body whose parts come when the test says so."""

    def __init__(self) -> None:
        self.parts: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while part := await self.parts.get():
            yield part

    async def aclose(self) -> None:
        self.closed = True


def test_a_socket_is_paced_from_the_first_text_to_the_finish_reason_only() -> None:
    """So that neither the first text waits nor the end, and the connection's next request starts free."""
    role, text, finish = (
        b'data: {"choices":[{"index":0,"delta":{%b},"finish_reason":%b}]}\n\n' % parts
        for parts in ((b'"role":"assistant","content":""', b"null"), (b'"content":"a"', b"null"), (b"", b'"stop"'))
    )

    async def main() -> list[bool]:
        inner, socket = Inner(), PacedStream(httpcore2.AsyncNetworkStream())
        body = Body(inner, Witness(status=200), DeltaMerger("openai"), socket)
        found = []
        parts = aiter(body)
        for part in (role, text, finish):
            inner.parts.put_nowait(part)
            await anext(parts)
            found.append(socket.paced)
        await body.aclose()
        assert inner.closed

        again = Body(inner, Witness(status=200), DeltaMerger("openai"), socket)
        inner.parts.put_nowait(text)
        await anext(aiter(again))
        found.append(socket.paced)
        await again.aclose()
        return [*found, socket.paced]

    assert asyncio.run(main()) == [False, True, False, True, False]


def test_a_body_that_was_read_to_its_end_has_nothing_more_for_who_asks_again() -> None:
    """SDKs drain a finished response; one that waits for more holds every answer back until they give it up."""

    async def main() -> list[list[bytes]]:
        inner = Inner()
        body = Body(inner, Witness(status=200))
        for part in (b"whole", b""):
            inner.parts.put_nowait(part)
        async with asyncio.timeout(5):
            found = [[part async for part in body] for _ in range(2)]
        await body.aclose()
        return found

    assert asyncio.run(main()) == [[b"whole"], []]


def test_a_body_that_nobody_read_is_closed_all_the_same() -> None:
    async def main() -> bool:
        inner = Inner()
        await Body(inner, Witness(status=500)).aclose()
        return inner.closed

    assert asyncio.run(main())


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


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_a_stream_that_an_sdk_leaves_open_is_closed_with_the_call(provider: FakeProvider, kind: str) -> None:
    """An error event in a stream that then stays open: not every SDK closes it."""

    async def main() -> bool:
        outcome = await call(spec_for(provider, "error-stall-3", kind=kind), f"left open {kind}")
        assert outcome.failure is not None
        [request] = provider.requests(f"left open {kind}")
        ended = provider.outcome(request["id"], within=1.0)["outcome"] == "aborted"
        await aclose()
        return ended

    assert asyncio.run(main())


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
