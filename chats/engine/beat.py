"""The heartbeat of one drain: a thread of its own, so that a busy loop never loses its leases (R26, R39)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection

from django.conf import settings
from django.db import connections

from chats.selectors.health import host_stopping
from chats.services.turns_lease import host_beat, leases_renew
from core import clock
from core.processes import leaderless

logger = logging.getLogger(__name__)
EVERY = 1.0


class Heartbeat(threading.Thread):
    """Renews the leases of what `worker` works on (`working()`) and tells `renewed(ids -> fences)` which are its own.

    Looks once a second whether the host shuts down or its supervisor is gone (`stopping()`), and notes that the drain
    lives.
    """

    def __init__(
        self, *, worker: str, host: str, working: Callable[[], Collection[int]],
        renewed: Callable[[dict[int, int]], None], stopping: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(name=f"heartbeat {worker}", daemon=True)
        self._worker, self._host, self._working = worker, host, working
        self._renewed, self._stopping = renewed, stopping
        self._over = threading.Event()

    def end(self) -> None:
        self._over.set()
        self.join(5)

    def run(self) -> None:
        due = wait = 0.0
        while not self._over.wait(wait):
            wait = EVERY
            if leaderless():  # nobody would ever end this drain; also when the database is away
                self._stopping()
            try:
                now = clock.now()
                host_beat(name=self._host, now=now, columns=["drain_at"])
                if host_stopping(self._host):
                    self._stopping()
                if clock.monotonic() >= due:
                    self._renewed(leases_renew(worker=self._worker, turn_ids=self._working(), now=now))
                    due = clock.monotonic() + settings.HEARTBEAT_SECONDS
            except Exception:
                logger.warning("a heartbeat was lost", exc_info=True)
                connections.close_all()
        connections.close_all()
