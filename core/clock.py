"""The only module that reads a clock.

Faces ask `now()` once at the edge and hand the instant on (R9); lateness is judged by the database's clock (C11).
"""

import time
from datetime import UTC, datetime

from django.db import connections


def now(using: str = "default") -> datetime:
    """Return the database's current instant in UTC. SQLite has no clock of its own: there it is this host's."""
    connection = connections[using]
    if connection.vendor != "postgresql":
        return host_now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0].astimezone(UTC)


def host_now() -> datetime:
    """Return this host's wall clock in UTC."""
    return datetime.now(UTC)


def boot_seconds() -> float:
    """Return seconds since boot, suspended time included, on a clock that nobody can set (C15)."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def monotonic() -> float:
    """Return seconds on a clock that never goes back, for measuring durations within one process."""
    return time.monotonic()
