"""Database work for an event loop: one thread, one connection, in the order asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connections

T = TypeVar("T")
AWAY = (OperationalError, InterfaceError)  # the database failed, not what was asked of it
TRIES = 3


class Database:
    """Runs callables in a thread of its own. A connection that broke is closed, so that the next call makes another."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def __call__(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, _guarded, work)

    def close(self) -> None:
        """Close the thread's connection and the thread."""
        self._pool.submit(connections.close_all).result()
        self._pool.shutdown()


def again_if_away(work: Callable[[], T]) -> T:
    """Run one whole transaction, again when the database fails it (a deadlock, a broken connection)."""
    for number in range(TRIES):
        try:
            return _guarded(work)
        except AWAY:
            if number == TRIES - 1:
                raise
    raise AssertionError("unreachable")


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except AWAY:
        for connection in connections.all(initialized_only=True):
            connection.close()
        raise
