"""What goes wrong, in which order: processes die at labelled points and anywhere, and all that `others` bring."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import psutil

from tests.faults.programme.killer import LABELS, order, ordered
from tests.faults.programme.world import World
from tests.support.processes import DeadlinePassed, Process

PATIENCE = 5.0  # seconds until an order that nobody came by is left lying
TICKED = "SELECT count(*) FROM chats_workerhost WHERE clock_at IS NOT NULL"
RUNNING = "SELECT id FROM chats_turn WHERE status = 'running' AND stop_requested_at IS NULL ORDER BY id"


class Chaos:
    """One worker command and the faults it goes through, in an order that `chance` shuffles, `gap` seconds apart.

    `others`: faults besides the processes' by name. `often`: what is done besides between any two faults.
    """

    def __init__(
        self, here: World, *, chance: random.Random, gap: float, others: dict[str, Callable[[], None]],
        often: dict[str, Callable[[], None]],
    ) -> None:  # fmt: skip
        self.here, self.chance, self.gap = here, chance, gap
        self.done: Counter[str] = Counter()
        self.starts = 0
        self.faults: dict[str, Callable[[], None]] = {
            "kill clock": lambda: self._kill(self._clock()),
            "kill cluster": lambda: self._kill(self._cluster()),
            "kill sentinel": lambda: self._kill(self._below(self._cluster())),
            "kill supervisor": self._kill_supervisor,
            "kill supervisor, then cluster": self._kill_from_above,
            "kill everything": self._kill_everything,
            "terminate": self._terminate,
            "lose hints": self._lose_hints,
            **others,
        }
        self.often, self.deck = often, list[str]()
        self.worker = self.start()

    def start(self) -> Process:
        """Start the worker command with killers in it and wait until its clock has ticked."""
        server = self.here.server
        self.starts += 1
        self.worker = server.start("worker", "-m", "tests.faults.programme.killer", str(self.here.orders))
        server.wait_until(lambda: self.here.query(TICKED)[0][0] >= self.starts, seconds=60, what="the clock ticks")
        return self.worker

    def run(self, over: Callable[[], bool]) -> None:
        """Go on until `over`: every label first, then all faults, then both mixed.

        Orders that nobody came by are taken back in the end.
        """
        labels, faults = list(LABELS), list(self.faults)
        decks = [labels, faults]
        while not over():
            deck = decks.pop(0) if decks else labels + faults
            self.chance.shuffle(deck)
            for name in deck:
                if over():
                    break
                self._one(name)
                self._besides()
                time.sleep(self.gap)
        for label in LABELS:
            (self.here.orders / label).unlink(missing_ok=True)

    def end(self) -> int:
        """End the worker as an operator does; return its exit code."""
        return self.worker.stop(seconds=60)

    def _one(self, name: str) -> None:
        if name in self.faults:
            self.faults[name]()
            self.done[name] += 1
            return
        order(self.here.orders, name)
        until = time.monotonic() + PATIENCE
        while ordered(self.here.orders, name) and time.monotonic() < until:
            if name == "stopping":
                self._stop_some()
            time.sleep(0.1)

    def _besides(self) -> None:
        if not self.deck:
            self.deck = self.chance.sample(list(self.often), len(self.often))
        if self.deck:
            name = self.deck.pop()
            self.often[name]()
            self.done[name] += 1

    def _stop_some(self) -> None:
        """Ask for one running turn to be stopped, as its owner does."""
        from chats.services.turns_stop import turn_stop
        from core import clock

        if running := self.here.query(RUNNING):
            chosen = self.chance.choice(running)[0]
            self.here.act(lambda: turn_stop(turn_id=chosen, reason="stopped_by_owner", now=clock.now()))
            self.done["stops asked for"] += 1

    def _children(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.worker.pid).children()
        return []

    def _clock(self) -> psutil.Process | None:
        return next((child for child in self._children() if not _leads(child.pid)), None)

    def _cluster(self) -> psutil.Process | None:
        return next((child for child in self._children() if _leads(child.pid)), None)

    @staticmethod
    def _below(process: psutil.Process | None) -> psutil.Process | None:
        with suppress(psutil.NoSuchProcess):
            return next(iter(process.children()), None) if process else None
        return None

    @staticmethod
    def _kill(process: psutil.Process | None) -> None:
        if process:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def _lose_hints(self) -> None:
        self.here.query("DELETE FROM django_q_ormq")

    def _kill_supervisor(self) -> None:
        """Its children notice by themselves and end; the next worker may come before they have."""
        self.worker.kill()
        self.worker.wait()
        self.start()

    def _kill_from_above(self) -> None:
        """Nobody is left who would end the rest of the cluster: it must end by itself."""
        cluster = self._cluster()
        self.worker.kill()
        self._kill(cluster)
        self.worker.wait()
        self.start()

    def _kill_everything(self) -> None:
        children = self.worker.children()
        self.worker.kill()
        for child in children:
            self._kill(child)
        self.worker.wait()
        self.start()

    def _terminate(self) -> None:
        if self.worker.stop(seconds=60) != 0:
            raise DeadlinePassed(f"SIGTERM did not end it well\n{self.worker.tail()}")
        self.start()


def _leads(pid: int) -> bool:
    with suppress(ProcessLookupError):
        return os.getsid(pid) == pid
    return False
