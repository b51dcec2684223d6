"""The fake provider in a thread of the test's own process, and its switch.

A real HTTP server on loopback: the code under test reaches it like any provider.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from bench.provider import Provider
from bench.provider_behaviours import Behaviour, answer_text

__all__ = ["FakeProvider", "answer_text", "fake_provider"]

_T = TypeVar("_T")


class FakeProvider:
    """A running fake provider. ``url`` is the base URL of its OpenAI dialect."""

    def __init__(self, defaults: Behaviour) -> None:
        self._provider = Provider(defaults)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake-provider", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._provider.start(), self._loop).result(10)

    @property
    def port(self) -> int:
        """The port of the provider."""
        return self._provider.port

    @property
    def root(self) -> str:
        """The address without a path, for dialects that bring their own (Anthropic, Gemini)."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL for an OpenAI-compatible client."""
        return f"{self.root}/v1"

    @property
    def control_url(self) -> str:
        """The address of the control port."""
        return f"http://127.0.0.1:{self._provider.control_port}"

    def become(self, behaviour: str | None, *, times: int = 0, model: str | None = None) -> None:
        """Switch every request (or the next ``times``, or those for ``model``) to a behaviour; None heals.

        ``"down"`` makes connecting fail until the next call.
        """
        order: dict[str, Any] = {"behaviour": behaviour, "times": times, "model": model}
        asyncio.run_coroutine_threadsafe(self._provider.switch(order), self._loop).result(10)

    def log(self) -> list[dict[str, Any]]:
        """What happened: ``start`` and ``end`` entries in order, as the log file has them."""
        return self._call(lambda: json.loads(json.dumps(self._provider.records)))

    def requests(self, prompt: str | None = None) -> list[dict[str, Any]]:
        """The ``start`` entries, of one prompt if given."""
        starts = [entry for entry in self.log() if entry["event"] == "start"]
        return [entry for entry in starts if prompt is None or entry["prompt"] == prompt]

    def outcome(self, number: int, *, within: float = 5.0) -> dict[str, Any]:
        """The ``end`` entry of request ``number``, waited for up to ``within`` seconds."""
        return self.wait_for(
            lambda: next((e for e in self.log() if e["event"] == "end" and e["id"] == number), None), within
        )

    def live(self) -> int:
        """How many requests are being answered right now."""
        return self._call(lambda: self._provider.live)

    def most(self) -> int:
        """The most requests that were being answered at one time."""
        return self._call(lambda: self._provider.most)

    @staticmethod
    def wait_for(look: Callable[[], _T | None], within: float = 5.0) -> _T:
        """The first true value of ``look()``; raises ``TimeoutError`` after ``within`` seconds."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            if found := look():
                return found
            time.sleep(0.005)
        raise TimeoutError("the fake provider did not get there in time")

    def _call(self, function: Callable[[], _T]) -> _T:
        async def run() -> _T:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    def close(self) -> None:
        """Stop the server and its thread."""
        self._call(self._provider.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@contextmanager
def fake_provider(*, chunks: int = 8, interval: float = 0.005, first_delay: float = 0.0) -> Iterator[FakeProvider]:
    """A fake provider for the length of a ``with``; times in seconds."""
    provider = FakeProvider(Behaviour(chunks=chunks, interval=interval, first_delay=first_delay))
    try:
        yield provider
    finally:
        provider.close()
