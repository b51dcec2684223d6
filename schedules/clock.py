"""The clock of a worker host: looks at every whole second of the database's clock. Many may run; none is special."""

from __future__ import annotations

import logging
import threading
from datetime import datetime

from django.db import connections

from chats.queue import hint_drain
from chats.selectors.health import drains_needed
from chats.services.turns_lease import host_beat
from chats.services.turns_recover import leases_of_dead, turns_put_back
from core import clock
from core.processes import alive
from schedules.domain.jumps import JumpGuard
from schedules.services.firing import BATCH, due_left, fire_due
from schedules.services.reconcile import marks_put_back, reconcile
from schedules.services.upkeep import zones_refresh

logger = logging.getLogger(__name__)

RECONCILE_SECONDS = 4.0  # ticks are whole seconds apart, give or take: never more than 5 s between two
ROUNDS = 200  # bounds one tick; what is left is due at the next
LOCKED_PAUSE = 0.02
FIRST = 50  # schedules of a tick's first batch: small, so that the first requests leave early
HINTS = 2  # a drain for each of the first batches; one more follows at the end


class Clock:
    """One ticking loop. `host` names the row that proves it lives."""

    def __init__(self, *, host: str) -> None:
        self.host = host
        self.guard = JumpGuard()
        self.over = threading.Event()
        self._stale_zones = True  # until a look finds none: the data changes with the installation only
        self._reconciled = 0.0
        self._marks_ahead = False
        self._begins = True  # time that was wrong may have been put right while nobody ticked

    def run(self) -> None:
        """Tick on each whole second until `over` is set."""
        while not self.over.is_set():
            try:
                now = clock.now()
                self.tick(now)
                wait = 1.0 - clock.now().microsecond / 1_000_000
            except Exception:
                logger.exception("a tick failed")
                connections.close_all()
                wait = 1.0
            self.over.wait(wait)
        connections.close_all()

    def tick(self, now: datetime) -> int:
        """Fire what is due at `now` and heal what needs it; return how many runs were queued."""
        host_beat(name=self.host, now=now, columns=["clock_at"])  # also while it waits: it lives
        trusted, jumped = self.guard.look(now, clock.boot_seconds())
        if not trusted:
            logger.warning("the clock jumped; nothing is opened until it has stood for a minute")
            return 0
        self._put_back(now, jumped=jumped)
        queued = self._fire(now)
        if queued:
            hint_drain()
        if clock.monotonic() - self._reconciled >= RECONCILE_SECONDS:
            self._reconciled = clock.monotonic()
            leases_of_dead(host=self.host, alive=alive, now=now)
            reconcile(now=now)
            self._stale_zones = self._stale_zones and zones_refresh() > 0
            if drains_needed(now, older_than=0.0):  # R22: a hint that was lost is given again
                hint_drain()
        return queued

    def _put_back(self, now: datetime, *, jumped: bool) -> None:
        """After a jump: what stands in the future is put back to now, a batch a tick (C15)."""
        if jumped or self._begins:
            self._begins = False
            turns_put_back(now=now)
            self._marks_ahead = True
        if self._marks_ahead:
            self._marks_ahead = marks_put_back(now=now) > 0

    def _fire(self, now: datetime) -> int:
        queued = hints = 0
        for _ in range(ROUNDS):
            fired = fire_due(now=now, most=BATCH if queued else FIRST)
            queued += fired.queued
            if fired.queued and hints < HINTS:
                hints += hint_drain()  # the first batches need not wait for the last
            if fired.looked == 0 and (fired.held or not due_left(now=now) or self.over.wait(LOCKED_PAUSE)):
                break
        return queued
