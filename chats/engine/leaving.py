"""Few requests are built at a time, so that the first leave early: built all at once, they would all leave at the end.

Building one takes a library some milliseconds of this process and no network; a hundred side by side take half a
second, and each of them that long.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

MOST = 8


class Leaving:
    """Counts the calls whose request has not left yet, and lets `MOST` of them go on at a time."""

    def __init__(self) -> None:
        self._calls = 0
        self._room = asyncio.Semaphore(MOST)
        self._changed = asyncio.Event()

    def turn(self) -> Leave:
        """Return a place in the line, taken by `async with`."""
        return Leave(self)

    async def until(self, most: int, *, seconds: float) -> None:
        """Wait until at most `most` requests have not left, `seconds` at the longest."""
        try:
            async with asyncio.timeout(seconds):
                while self._calls > most:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return

    def enter(self) -> None:
        """Count a call from before it waits for room."""
        self._calls += 1

    async def room(self) -> None:
        """Wait for room."""
        await self._room.acquire()

    def leave(self, *, had_room: bool) -> None:
        """Count a call no more."""
        self._calls -= 1
        self._changed.set()
        if had_room:
            self._room.release()


class Leave:
    """One call's place: it ends with `left()`, at the latest with the block."""

    def __init__(self, line: Leaving) -> None:
        self._line, self._in, self._had_room = line, False, False

    async def __aenter__(self) -> Self:
        self._in = True
        self._line.enter()
        try:
            await self._line.room()
        except BaseException:
            self.left()
            raise
        self._had_room = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left()

    def left(self) -> None:
        """Say that the request has left; a second time says nothing new."""
        if self._in:
            self._in = False
            self._line.leave(had_room=self._had_room)
