"""R8: nothing leaves this process inside a database transaction, and nothing at all in the clock."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

from accounts.models import Notice
from chats.models import Turn
from schedules.clock import Clock
from schedules.models import Run, Schedule
from tests import factories
from tests.chats.engine.conftest import outcome
from tests.support.engine import HOUR, MINUTE, NOW, SECOND, begin, due_schedule, failed, settle

pytestmark = pytest.mark.django_db(transaction=True)

LEAVING = ("connect", "connect_ex", "send", "sendall", "sendto")

BEAT = "heartbeat "  # renews leases by the clock, in a transaction of its own that waits for nobody


class Leaving:
    """What leaves through a Python socket, with the transactions that are open in that instant, in any thread.

    Both databases have clients written in C, which are not met here; Redis, where configured, carries hints only.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[tuple[Any, str, list[str]]] = []
        self._open: dict[int, tuple[str, Any]] = {}
        self._watch_transactions(monkeypatch)
        for name in LEAVING:
            self._watch_sockets(monkeypatch, name)

    def to(self, port: int) -> list[tuple[str, list[str]]]:
        """Return (act, threads with a transaction open) of all that went to `port`."""
        return [(act, threads) for address, act, threads in self.seen if _port(address) == port]

    def _watch_transactions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = transaction.Atomic.__enter__

        def enter(atomic: transaction.Atomic) -> None:
            opened = transaction.get_connection(atomic.using)
            self._open[id(opened)] = threading.current_thread().name, opened
            real(atomic)

        monkeypatch.setattr(transaction.Atomic, "__enter__", enter)

    def _watch_sockets(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        real = getattr(socket.socket, name)

        def leave(sock: socket.socket, *arguments: Any) -> Any:
            address = arguments[-1] if name in ("connect", "connect_ex", "sendto") else _peer(sock)
            within = [thread for thread, opened in list(self._open.values()) if opened.in_atomic_block]
            threads = [thread for thread in within if not thread.startswith(BEAT)]
            self.seen.append((address, name, threads))
            return real(sock, *arguments)

        monkeypatch.setattr(socket.socket, name, leave)


def _peer(sock: socket.socket) -> Any:
    try:
        return sock.getpeername()
    except OSError:
        return None


def _port(address: Any) -> int | None:
    return address[1] if isinstance(address, tuple) else None


@pytest.fixture
def leaving(monkeypatch: pytest.MonkeyPatch) -> Leaving:
    """Watch every socket of this process from here on."""
    return Leaving(monkeypatch)


class TestTheDrain:
    @pytest.mark.parametrize("behaviour", ["ok", "status-500", "cut-3"])
    def test_no_transaction_is_open_in_any_thread_when_a_request_leaves(self, ask, drained, fake, leaving, behaviour):
        """One turn alone, so that no neighbour's start or settle may be open meanwhile."""
        fake.become(behaviour)
        run = ask()
        drained()
        sent = leaving.to(fake.port)
        assert {"connect", "send"} <= {act for act, _ in sent}
        assert [threads for _, threads in sent if threads] == []
        assert outcome(run)[0] == ("succeeded" if behaviour == "ok" else "failed")

    def test_no_transaction_is_open_while_an_answer_streams_and_is_stopped(self, ask, draining, fake, leaving):
        """The server is asked, not the client: whatever its text passes on the way, it waits for no commit."""
        run = ask("[[stream-400x25ms]] Tell me a long story.")
        draining()
        fake.wait_for(lambda: fake.live() == 1)
        Turn.objects.update(stop_requested_at=NOW, stop_reason="stopped_by_owner")
        fake.wait_for(lambda: outcome(run)[0] == "stopped", 10)
        assert [threads for _, threads in leaving.to(fake.port) if threads] == []

    def test_the_watch_sees_a_request_that_leaves_inside_a_transaction(self, fake, leaving):
        """What the tests above would find."""
        with transaction.atomic(), socket.create_connection(("127.0.0.1", fake.port)) as sock:
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        me = threading.current_thread().name
        assert leaving.to(fake.port) == [("connect", [me]), ("sendall", [me])]


@pytest.fixture
def world(owner: Any) -> None:
    """Everything a tick may meet at once: due, refused, late, unarmed, dying, and an owner to be told."""
    agent, unarmed = factories.make_agent(), {"next_run_at": None, "next_occurrence_at": None}
    for policy in ("skip", "replace", "allow"):
        due_schedule(owner, agent=agent, overlap_policy=policy, notify={"on": "always"})
    due_schedule(owner, agent=factories.make_agent(enabled=False))
    due_schedule(owner, agent=agent, cadence={"kind": "no such"})
    due_schedule(owner, at=NOW - 3 * HOUR, agent=agent)
    due_schedule(owner, agent=agent, **unarmed)
    due_schedule(owner, agent=agent, deleting_at=NOW, **unarmed)


class TestTheClock:
    @pytest.fixture(autouse=True)
    def closed(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
        """No name is looked up and no socket opened: each try is noted, and raises where it is made."""
        tried: list[str] = []

        def refuse(what: str) -> Callable[..., Any]:
            def raising(*arguments: Any, **more: Any) -> Any:
                tried.append(f"{what} {arguments[1:] or arguments}")
                raise AssertionError(f"the clock reached out: {what}")

            return raising

        for name in LEAVING:
            monkeypatch.setattr(socket.socket, name, refuse(name))
        monkeypatch.setattr(socket, "getaddrinfo", refuse("getaddrinfo"))
        yield tried

    def test_a_tick_reaches_out_to_nobody_whatever_it_meets(self, world, closed, host):
        """At fire every fact comes from the database; so does what recovery decides by."""
        assert Clock(host=host.name).tick(NOW) > 0
        [first, *_] = begin()
        settle(failed(first))
        Turn.objects.filter(status="running").update(lease_expires_at=NOW - MINUTE)
        Clock(host=host.name).tick(NOW + SECOND)  # a clock that begins heals at once
        assert closed == []
        assert {"queued", "refused", "missed"} <= set(Run.objects.values_list("status", flat=True))
        assert Notice.objects.exists()
        assert not Schedule.objects.filter(deleting_at__isnull=False).exists()
        assert not Turn.objects.filter(status="running").exists()

    def test_the_guard_notices_a_connection(self, closed):
        with pytest.raises(AssertionError, match="reached out"):
            socket.create_connection(("127.0.0.1", 9))
        assert len(closed) == 1
