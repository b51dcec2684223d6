"""One command that keeps a clock and a cluster alive: forks both from one warmed process, watches, restarts, drains.

The parent stays single-threaded and keeps no database connection over a fork. The cluster runs in a session of its
own: a stuck one is killed whole, because the queue's lock dies with whoever held it (ADR 0004). When the parent itself
is killed, its clock and cluster are told to end, its drains shut down as if asked to, and below a cluster that is gone
too nothing stays.
"""

from __future__ import annotations

import gc
import logging
import secrets
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db import connections

from chats.queue import run_cluster
from chats.selectors.health import CLOCK_HUNG_SECONDS, DRAIN_HUNG_SECONDS, drains_needed
from chats.services import hosts
from config.worker.silence import Silence
from core import clock
from core.processes import ended, fork, forks_die_with_parents, lead, place, send
from schedules.clock import Clock

logger = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
CLUSTER_START_SECONDS = 15.0
STOP_SECONDS = 10.0
KEEP_SECONDS = 5.0


@dataclass
class Child:
    """A forked process, since when it runs, and how often it was started."""

    name: str
    work: Callable[[], None]
    own_session: bool
    pid: int = 0
    since: float = 0.0
    starts: int = 0

    def start(self) -> None:
        connections.close_all()
        self.pid = fork(self.work, own_session=self.own_session)
        self.since = clock.monotonic()
        self.starts += 1

    def gone(self) -> None:
        """Forget it after it ended; what it started in its session ends too: nobody would ever end its orphans."""
        if self.own_session:
            send(self.pid, signal.SIGKILL, session=True)
        self.pid = 0

    def kill(self) -> None:
        """End it at once, with everything it started when the session is its own."""
        if self.pid:
            send(self.pid, signal.SIGKILL, session=self.own_session)
            while not ended(self.pid):
                time.sleep(0.01)
            self.pid = 0


class Supervisor:
    """Runs until SIGTERM or SIGINT; then lets running turns finish for `DRAIN_SECONDS` and ends everything (R30).

    `keep` is called every few seconds: it keeps what belongs to the host but not to the database (the local model).
    """

    def __init__(self, *, processes: int, with_clock: bool, keep: Callable[[], None] | None = None) -> None:
        self.host = f"{socket.gethostname()[:60]}-{secrets.token_hex(4)}"
        self.stopping = False
        self.keep, self.kept_at = keep, clock.monotonic()
        self.cluster = Child("cluster", lambda: _cluster(processes), own_session=True)
        self.clock = Child("clock", lambda: _clock(self.host), own_session=False) if with_clock else None
        self.clock_silence, self.drain_silence = Silence(), Silence()
        self.children = [child for child in (self.clock, self.cluster) if child is not None]

    def run(self) -> None:
        """Start, watch, end."""
        settings.WORKER_HOST = self.host
        lead()
        hosts.host_open(name=self.host, hostname=socket.gethostname(), place=place(), now=clock.now())
        connections.close_all()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked)
        gc.collect()
        gc.freeze()
        for child in self.children:
            child.start()
        logger.info("worker %s is up", self.host)
        while not self.stopping:
            time.sleep(WATCH_SECONDS)
            self._watch()
            self._keep()
        self._end()

    def _keep(self) -> None:
        if self.keep is None or clock.monotonic() - self.kept_at <= KEEP_SECONDS:
            return
        self.kept_at = clock.monotonic()
        try:
            self.keep()
        except Exception:  # what is kept beside the work (a full disk, say) must not end the work
            logger.exception("what this host keeps could not be kept")

    def _asked(self, number: int, frame: object) -> None:
        self.stopping = True

    def _watch(self) -> None:
        for child in self.children:
            if child.pid and ended(child.pid):
                logger.error("the %s ended by itself; it is started again", child.name)
                child.gone()
                self._restart(child)
        try:
            silent = self._silent()
        except Exception:
            logger.warning("the database could not be asked how the children are", exc_info=True)
            self.clock_silence.forget()  # nor could they give a sign: when it is back, they have all the time again
            self.drain_silence.forget()
            return
        finally:
            connections.close_all()
        for child in silent:
            logger.error("the %s does not move; it is killed and started again", child.name)
            self._restart(child)

    def _silent(self) -> list[Child]:
        now, at = clock.now(), clock.monotonic()
        found = []
        if self.clock:
            silent = self.clock_silence.look(hosts.clock_sign(name=self.host), at)
            if silent > CLOCK_HUNG_SECONDS and self._old(self.clock, CLOCK_HUNG_SECONDS):
                found.append(self.clock)
        if not drains_needed(now, older_than=WATCH_SECONDS):
            self.drain_silence.forget()
        silent = self.drain_silence.look(hosts.drain_sign(name=self.host), at)
        if silent > DRAIN_HUNG_SECONDS and self._old(self.cluster, CLUSTER_START_SECONDS):
            found.append(self.cluster)
        return found

    @staticmethod
    def _old(child: Child, seconds: float) -> bool:
        return clock.monotonic() - child.since > seconds

    def _restart(self, child: Child) -> None:
        if self.stopping:
            return
        child.kill()
        if child is self.cluster:
            try:
                hosts.host_restarted(name=self.host)
            except Exception:
                logger.warning("the restart could not be noted", exc_info=True)
        time.sleep(min(2 ** min(child.starts - 1, 5), 30) * 0.1)
        child.start()

    def _end(self) -> None:
        logger.info("worker %s ends: running turns have %d s", self.host, settings.DRAIN_SECONDS)
        deadline = clock.monotonic() + settings.DRAIN_SECONDS + STOP_SECONDS
        if self.clock:
            send(self.clock.pid, signal.SIGTERM)
        self._until_drained(deadline)
        if self.cluster.pid:
            send(self.cluster.pid, signal.SIGTERM)  # the main process alone: a signal to the group hangs the queue
            self._wait(self.cluster, STOP_SECONDS)
        for child in self.children:
            child.kill()

    def _until_drained(self, deadline: float) -> None:
        try:
            hosts.host_stop(name=self.host, now=clock.now())
            while clock.monotonic() < deadline and hosts.host_busy(name=self.host):
                time.sleep(0.1)
        except Exception:
            logger.warning("the turns could not be drained", exc_info=True)
        finally:
            connections.close_all()

    @staticmethod
    def _wait(child: Child, seconds: float) -> None:
        until = clock.monotonic() + seconds
        while clock.monotonic() < until:
            if ended(child.pid):
                child.pid = 0
                return
            time.sleep(0.05)


def _cluster(processes: int) -> None:
    forks_die_with_parents()
    run_cluster(processes=processes)


def _clock(host: str) -> None:
    ticking = Clock(host=host)
    signal.signal(signal.SIGTERM, lambda number, frame: ticking.over.set())
    ticking.run()
