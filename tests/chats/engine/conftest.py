"""The real drain in this process, against a real HTTP server that answers as it is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from agents.models import Agent
from chats.engine import beat, drain
from chats.models import Message, Turn, WorkerHost
from schedules.models import Run
from tests import factories
from tests.fakes.provider import FakeProvider, fake_provider
from tests.support.engine import NOW, queued_run


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A provider that answers in eight pieces within a blink."""
    with fake_provider() as running:
        yield running


@pytest.fixture
def agent(transactional_db: None, fake: FakeProvider) -> Agent:
    """An agent that the fake provider answers for."""
    provider = factories.make_provider(base_url=fake.url, key_env="")
    return factories.make_agent(model=factories.make_model(provider=provider), name="Scribe")


@pytest.fixture
def owner(transactional_db: None) -> Any:
    """Alice, in committed rows that other threads see."""
    return factories.make_user("alice@example.com", display_name="Alice")


@pytest.fixture
def ask(owner: Any, agent: Agent) -> Callable[..., Run]:
    """Queue a run of a new schedule: `ask("[[slow-20]] What is new?")`. No retries unless a window is given."""

    def make(prompt: str = "What is new?", **fields: Any) -> Run:
        fields = {"agent": agent, "retry_window_seconds": 0, **fields}
        return queued_run(fields.pop("owner", owner), prompt=prompt, **fields)

    return make


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A drain that ends as soon as nothing is left, and looks often."""
    monkeypatch.setattr(drain, "LINGER", 0.05)
    monkeypatch.setattr(drain, "LOOK", 0.02)
    monkeypatch.setattr(drain, "STOP_LOOK", 0.05)
    monkeypatch.setattr(beat, "EVERY", 0.1)
    settings.HEARTBEAT_SECONDS = 0.1
    settings.MAX_CONCURRENT_PER_OWNER = 100


@pytest.fixture
def host(transactional_db: None) -> WorkerHost:
    """The row of the host that drains."""
    return WorkerHost.objects.create(name="host", hostname="host", started_at=NOW)


class Draining:
    """A drain in a thread of its own, as a worker process has it."""

    def __init__(self) -> None:
        self.thread = threading.Thread(target=self._run, name="drain under test")
        self.error: BaseException | None = None
        self.drain: drain.Drain | None = None
        self.thread.start()

    def _run(self) -> None:
        async def work() -> None:
            self.drain = drain.Drain(host="host")
            await self.drain.run()

        try:
            asyncio.run(work())
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self.error = error
        finally:
            connection.close()

    def end(self, seconds: float = 20) -> None:
        """Wait until the drain has ended by itself."""
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the drain did not end"
        if self.error is not None:
            raise self.error


@pytest.fixture
def draining(host: WorkerHost) -> Iterator[Callable[[], Draining]]:
    """Start a drain beside the test; it is waited for at the end."""
    started: list[Draining] = []

    def start() -> Draining:
        started.append(Draining())
        return started[-1]

    yield start
    for one in started:
        one.thread.join(20)


@pytest.fixture
def drained(draining: Callable[[], Draining]) -> Callable[[], None]:
    """Work the queue until it is empty."""
    return lambda: draining().end()


def written(run: Run) -> str:
    """Return what the answer of `run` holds now."""
    texts = Message.objects.filter(turn=run.turn_id, role="assistant").values_list("text", flat=True)
    return texts.first() or ""


def outcome(run: Run) -> tuple[str, str]:
    """Return (status, reason) of `run` now."""
    return Run.objects.values_list("status", "reason").get(pk=run.pk)


def turn_of(run: Run) -> Turn:
    return Turn.objects.get(pk=run.turn_id)
