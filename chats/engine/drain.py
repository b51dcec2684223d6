"""One worker process working many turns at once: lease, start, stream, flush, settle, until the queue is empty.

Model calls wait on the network, so one process carries hundreds. Every database step is a batch in one thread; every
turn is a task of its own (R39). Leases are what counts: whatever this process believes, the fence decides (R4).
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from datetime import datetime
from functools import partial

from django.conf import settings

from agents.runtime import generate
from chats.engine.beat import Heartbeat
from chats.engine.call import LOST, SHUTDOWN, STOP, Live, call, cancelled
from chats.engine.database import AWAY, Database, again_if_away
from chats.engine.leaving import Leaving
from chats.engine.settling import Settling
from chats.models import Turn
from chats.queue import hint_drain
from chats.selectors.health import host_stopping, successor_leases
from chats.services.turns_claim import turns_claim, turns_waiting
from chats.services.turns_lease import stops_requested, text_flush
from chats.services.turns_start import Work, turns_dispatch, turns_start
from core import clock
from core.points import reached

logger = logging.getLogger(__name__)

CLAIM = 50  # small claims spread a burst over the processes and let first requests leave early
PAUSE = 0.01
FEW, SOON = 8, 1.0  # requests of a batch that have not left when the next is leased; seconds to wait for that at most
LOOK = 0.1  # seconds between looks at the queue
LINGER = 5.0  # idle seconds before the drain ends; a hint wakes the next one
STOP_LOOK = 0.5
CROWD = 100  # live turns above which text is written every second: what is saved starts and settles the others sooner
SWITCH_SECONDS = 0.0001


class Drain:
    """The work of one process until it is idle, its period is over, or the host shuts down."""

    def __init__(self, *, host: str) -> None:
        self.host = host
        self.worker = f"{host}/{os.getpid()}/{secrets.token_hex(3)}"
        self.live: dict[int, Live] = {}
        self.database = Database("drain")
        self.settling = Settling(self.database, self._gone, live=lambda: len(self.live))
        self.leaving = Leaving()
        self.accepting = True
        self.shutdown_at: float | None = None
        self.period_over_at: datetime | None = None
        self.loop = asyncio.get_running_loop()

    async def run(self) -> None:
        """Drain the queue. Returns when nothing is left to do here."""
        beat = Heartbeat(
            worker=self.worker,
            host=self.host,
            working=lambda: list(self.live),
            renewed=lambda fences: self._soon(self._renewed, fences),
            stopping=lambda: self._soon(self._shut_down),
        )
        beat.start()
        helpers = [asyncio.create_task(work) for work in (self._flushing(), self._stopping(), self.settling.run())]
        try:
            await self._leasing()
            await self.settling.finish()
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            beat.end()
            await generate.aclose()
            self.database.close()

    async def _leasing(self) -> None:
        idle_since = started = clock.monotonic()
        while self.live or self.accepting:
            now = clock.monotonic()
            if self.accepting and now - started > settings.DRAIN_PERIOD_SECONDS:
                self.accepting = not await self._succeeded(now - started)
            if self.shutdown_at is not None and now > self.shutdown_at:
                self._cancel_all(SHUTDOWN)
            worked = await self._take() if self.accepting else 0
            if self.live or worked:
                idle_since = clock.monotonic()
            elif clock.monotonic() - idle_since > LINGER:
                self.accepting = False
            generate.make_room(worked == CLAIM)
            if worked:
                await self.leaving.until(FEW, seconds=SOON)
            await asyncio.sleep(PAUSE if worked else LOOK)

    async def _succeeded(self, age: float) -> bool:
        """Hint a successor once, and say whether it leases by now or this process has to be over soon (R26)."""
        if not self.live:
            return True
        if age > settings.QUEUE_TIMEOUT_SECONDS - settings.MAX_DEADLINE_SECONDS - 60:
            return True
        try:
            return await self.database(self._handed_over)
        except Exception:
            logger.warning("whether a successor leases could not be read", exc_info=True)
            return False

    def _handed_over(self) -> bool:
        if self.period_over_at is None:
            self.period_over_at = clock.now()
            hint_drain()
        return successor_leases(host=self.host, worker=self.worker, since=self.period_over_at)

    async def _take(self) -> int:
        try:
            works = await self.database(self._lease_and_start)
        except Exception:
            logger.warning("leasing failed; the leases expire or the queue is looked at again", exc_info=True)
            await asyncio.sleep(1)
            return 0
        for work in works:
            live = Live(work)
            self.live[work.turn.pk] = live
            live.task = asyncio.create_task(call(live, self.leaving))
            live.task.add_done_callback(partial(self._ended, live))
        return len(works)

    def _lease_and_start(self) -> list[Work]:
        now = clock.now()
        if not turns_waiting(now=now) or host_stopping(self.host):  # R30: also before the heartbeat has told it
            return []
        leased = turns_claim(worker=self.worker, most=CLAIM, now=now)
        reached("leased", leased)
        works = self._start(leased, now)
        reached("started", works)
        if works:
            works = turns_dispatch(works=works, now=clock.now())
            reached("dispatched", works)
        return works

    def _start(self, leased: list[Turn], now: datetime) -> list[Work]:
        """Start a batch; when something in it breaks, one by one, so that the others start (R21, R39).

        What fails for the database's sake (a deadlock, a restart) is nobody's failure: it is tried again, and left to
        its lease in the end.
        """
        if not leased:
            return []
        try:
            return again_if_away(lambda: turns_start(turns=leased, now=now))
        except AWAY:
            logger.warning("%d turns could not be started; their leases run out", len(leased), exc_info=True)
            return []
        except Exception:  # noqa: BLE001 - `fail_start` logs it
            if len(leased) == 1:
                self.settling.fail_start(leased[0], now)
                return []
            return [work for turn in leased for work in self._start([turn], now)]

    def _ended(self, live: Live, task: asyncio.Task) -> None:
        ending = cancelled(live) if task.cancelled() else task.result()
        if ending is None:  # the lease is lost: whatever was written belongs to its new holder
            self._gone(live.work.turn.pk)
        else:
            self.settling.add(ending)

    def _gone(self, turn_id: int) -> None:
        self.live.pop(turn_id, None)

    async def _flushing(self) -> None:
        while True:
            await asyncio.sleep(self._flush_every())
            dirty = [live for live in self.live.values() if len(live.pieces) > 1 or len(live.text) != live.flushed]
            rows = [(live.work.message_id, live.work.fence, live.text) for live in dirty]
            if not rows:
                continue
            try:
                await self.database(partial(text_flush, rows=rows))
            except Exception:
                logger.warning("a flush failed and is tried again", exc_info=True)
                continue
            for live, (_, _, text) in zip(dirty, rows, strict=True):
                live.flushed = len(text)
            reached("flushed", rows)

    def _flush_every(self) -> float:
        return 1.0 if len(self.live) > CROWD else 0.4

    async def _stopping(self) -> None:
        while True:
            await asyncio.sleep(STOP_LOOK)
            if not self.live:
                continue
            try:
                asked = await self.database(lambda: stops_requested(worker=self.worker))
            except Exception:
                logger.warning("requests to stop could not be read", exc_info=True)
                continue
            reached("stopping", list(asked))
            for turn_id, reason in asked.items():
                if live := self.live.get(turn_id):
                    live.cancel(STOP, reason)

    def _renewed(self, fences: dict[int, int]) -> None:
        """Drop what is no longer ours: a heartbeat that renewed less than we work on has lost the rest."""
        for turn_id, live in list(self.live.items()):
            settles = live.task is not None and live.task.done()
            if not settles and live.leased_before_beat and fences.get(turn_id) != live.work.fence:
                live.cancel(LOST)
            live.leased_before_beat = True

    def _shut_down(self) -> None:
        if self.shutdown_at is None:
            self.accepting = False
            self.shutdown_at = clock.monotonic() + settings.DRAIN_SECONDS

    def _cancel_all(self, why: str) -> None:
        for live in list(self.live.values()):
            live.cancel(why)

    def _soon(self, act, *args) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(act, *args)


async def drain(*, host: str) -> None:
    """Work the queue from this process (called by the task that a hint starts)."""
    generate.tune_gc()
    # The database thread gives the interpreter up at each query; with the usual 5 ms it would wait that long, 60 times
    # a batch, behind hundreds of streams, and other writers with it.
    sys.setswitchinterval(SWITCH_SECONDS)
    await Drain(host=host).run()
