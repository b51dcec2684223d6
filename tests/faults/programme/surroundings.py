"""What goes wrong around the worker: its database goes away, its disk fills, its clock is moved, its provider fails."""

from __future__ import annotations

import contextlib
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlparse

import psutil

from core import clock
from tests.faults.programme.evidence import TRUSTED_SECONDS, Moved
from tests.faults.programme.killer import CLOCK, LABELS
from tests.faults.programme.world import World
from tests.support import databases
from tests.support.processes import wait_until

AWAY_SECONDS = 2.0
AWAY_LONGER_SECONDS = 14.0  # a supervisor takes a drain for stuck that gives no sign for 10 s
BUSY_SECONDS = 8.0
BEYOND_TIMEOUT_SECONDS = 22.0  # settings wait 20 s for SQLite's lock
FULL_BYTES = 64 * 1024  # writes beyond this offset of any file fail; what killers note stays below it
MOVED_SECONDS = 3.0
TICKED = "SELECT max(clock_at) FROM chats_workerhost"
SERVED = ("status-500", "status-503", "status-429-after-1", "status-429-date-2", "garbage", "disconnect", "nothttp")


class Surroundings:
    """The faults that need no signal. `moves`: when the clock went wrong and by how many seconds."""

    def __init__(self, here: World) -> None:
        self.here = here
        self.moves: list[Moved] = []
        self.served = 0
        self.full_felt = 0

    def restart_database(self, seconds: float) -> None:
        """End every connection and let none in: to its clients the same as a restart of the server."""
        name = urlparse(self.here.server.database_url).path.lstrip("/")
        ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        databases.admin(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false')
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                databases.admin(ended)  # again: one that was being let in meanwhile
                time.sleep(0.2)
        finally:
            databases.admin(f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true')

    def lock_database(self, seconds: float) -> None:
        """Keep SQLite's only writer's place for `seconds`; beyond the busy timeout every writer is refused."""
        file = sqlite3.connect(self.here.server.folder / "quotidian.sqlite3", timeout=30, isolation_level=None)
        with contextlib.closing(file):
            file.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            file.execute("ROLLBACK")

    def fill_disk(self) -> None:
        """Let no process of the worker write beyond the beginning of a file, as on a full disk, then lift it."""
        self._limit(FULL_BYTES)
        try:
            time.sleep(0.5)  # writes that had begun
            before = self.here.query(TICKED)
            time.sleep(AWAY_SECONDS)
            self.full_felt += self.here.query(TICKED) == before
        finally:
            self._limit(resource.RLIM_INFINITY)

    def _limit(self, most: int) -> None:
        """Until a look finds nobody without it: one that is forked meanwhile has its parent's."""
        while others := [process for process in self.here.server.leftovers() if _limit_of(process) != most]:
            for process in others:
                with contextlib.suppress(psutil.Error, OSError):
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def move_clock(self, seconds: int) -> None:
        """C15: the time that ticks read is `seconds` wrong for a while, then right again.

        A large jump waits for a clock that has ticked at the right time: one that begins while time is wrong knows no
        other and opens what has not come, which nobody can judge from outside.
        """
        if abs(seconds) >= TRUSTED_SECONDS:
            for label in LABELS:  # nor may it die and begin anew meanwhile
                (self.here.orders / label).unlink(missing_ok=True)
            before = self.here.query(TICKED)
            wait_until(lambda: self.here.query(TICKED) != before, seconds=60, every=0.2, what="the clock ticks")
        with self._moved(seconds):
            time.sleep(MOVED_SECONDS)

    @contextlib.contextmanager
    def _moved(self, seconds: int) -> Iterator[None]:
        file, began = self.here.orders / CLOCK, clock.host_now()
        draft = file.with_suffix(".new")
        draft.write_text(str(seconds))
        draft.rename(file)
        try:
            yield
        finally:
            file.unlink()
            self.moves.append((began, clock.host_now(), seconds))

    def restart_provider(self) -> None:
        """Refuse connections and tear open streams for a while."""
        self.here.provider.become("down")
        time.sleep(AWAY_SECONDS)
        self.here.provider.become(None)

    def fail_provider(self) -> None:
        """Let the next requests, whosever they are, meet one failure; their retry is answered."""
        self.here.provider.become(SERVED[self.served % len(SERVED)], times=3)
        self.served += 1

    def faults(self, *, long: bool) -> dict[str, Callable[[], None]]:
        """Return name -> fault, those that this kind of database has. `long`: there is time for the slow one."""
        found: dict[str, Callable[[], None]] = {
            "clock 20 s ahead": lambda: self.move_clock(20),
            "clock 20 s behind": lambda: self.move_clock(-20),
            "clock 5 min ahead": lambda: self.move_clock(300),
            "clock 5 min behind": lambda: self.move_clock(-300),
            "restart provider": self.restart_provider,
        }
        if self.here.server.database_url:
            found["restart database"] = lambda: self.restart_database(AWAY_SECONDS)
            if long:
                found["restart database slowly"] = lambda: self.restart_database(AWAY_LONGER_SECONDS)
            return found
        found |= {"fill the disk": self.fill_disk, "lock database": lambda: self.lock_database(BUSY_SECONDS)}
        if long:
            found["lock database beyond its timeout"] = lambda: self.lock_database(BEYOND_TIMEOUT_SECONDS)
        return found


def _limit_of(process: psutil.Process) -> int | None:
    with contextlib.suppress(psutil.Error, OSError):
        return resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[0]
    return None
