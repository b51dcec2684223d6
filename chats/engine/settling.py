"""Settles what ended, in batches of one transaction each; a batch that fails is tried one by one (R39)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial

from chats.engine.database import AWAY, Database
from chats.models import Turn
from chats.services.turns_settle import Ended, turns_settle
from core import clock
from core.points import reached

logger = logging.getLogger(__name__)

BATCH = 50
GATHER = 0.05  # seconds: what is one step's cost for each alone is one step's cost for all that end together
TRIES = 20  # times a second: a database that is away longer than the lease leaves the turn to recovery


class Settling:
    """A queue of endings. `gone(turn_id)` is called once an ending was written or given up.

    `live()` is the number of turns worked on, those that have ended included: while there are others, an ending waits
    a moment for theirs, so that a burst that ends together is written in few transactions.
    """

    def __init__(self, database: Database, gone: Callable[[int], None], *, live: Callable[[], int]) -> None:
        self._database, self._gone, self._live = database, gone, live
        self._queue: asyncio.Queue[Ended] = asyncio.Queue()

    def add(self, ended: Ended) -> None:
        """Queue an ending; called on the loop."""
        self._queue.put_nowait(ended)

    async def finish(self) -> None:
        """Wait until everything queued was written or given up."""
        await self._queue.join()

    async def run(self) -> None:
        """Write endings until cancelled."""
        while True:
            ends = [await self._queue.get()]
            if self._live() > self._queue.qsize() + 1:
                await asyncio.sleep(GATHER)
            while len(ends) < BATCH and not self._queue.empty():
                ends.append(self._queue.get_nowait())
            await self._write(ends)
            for end in ends:
                self._gone(end.turn_id)
                self._queue.task_done()

    async def _write(self, ends: list[Ended]) -> None:
        try:
            await self._database(lambda: _settle(ends))
        except Exception:
            logger.warning("settling %d turns at once failed; one by one", len(ends), exc_info=True)
            for end in ends:
                await self._write_one(end)

    async def _write_one(self, end: Ended) -> None:
        """Write one ending: again while the database is away, as `internal` when it refuses what the ending holds."""
        for _ in range(TRIES):
            try:
                await self._database(partial(_settle, [end]))
            except AWAY:
                logger.warning("turn %s could not be settled yet", end.turn_id, exc_info=True)
                await asyncio.sleep(1)
            except Exception:
                logger.exception("the ending of turn %s was refused", end.turn_id)
                if end.code == "internal":
                    return
                end = broken(end)
            else:
                return

    def fail_start(self, turn: Turn, now: datetime) -> None:
        """Settle a turn whose start raised; runs in the database thread. Its lease heals it if this fails as well."""
        logger.exception("turn %s could not be started", turn.pk)
        end = Ended(turn.pk, turn.fence, "failed", "", code="internal", certainty="definite")
        try:
            turns_settle(ends=[end], now=now)
        except Exception:
            logger.exception("turn %s could not be failed", turn.pk)


def broken(end: Ended) -> Ended:
    """Return the least that can be written of an ending that the database refused (R39)."""
    return Ended(end.turn_id, end.fence, "failed", end.text, code="internal", certainty="ambiguous")


def _settle(ends: list[Ended]) -> None:
    reached("settling", ends)
    turns_settle(ends=ends, now=clock.now())
    reached("settled", ends)
