"""A fresh deployment for the programme, its schedules in bulk, and what is asked of its database meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from tests.fakes.provider import FakeProvider, fake_provider
from tests.faults.programme.killer import FLUSHES
from tests.support.processes import Deployment, deployment

_T = TypeVar("_T")
OWNERS = 20
BACKLOG_MINUTES = 4  # of schedules that run all they missed
PATIENCE = 60.0  # seconds for which a database may be away
LONG_AGO_MINUTES = 40  # of schedules that miss what is older than their grace
PIECES, INTERVAL = 30, 0.05  # of an answer: 1.5 s, so that text is flushed while it grows
RETRY_SECONDS = 10  # for which a provider that always fails is tried again
HUNG_SECONDS = 8  # until a provider that hangs is given up
HANGING = ("[[slow-3600]]", "[[stall-4]]", "[[error-stall-3]]")
TRANSIENT = (
    "[[garbage]]", "[[html]]", "[[notchunks]]", "[[nothttp]]", "[[disconnect]]", "[[status-500]]",
    "[[status-429-after-2]]",
)  # fmt: skip
OTHERS = (
    "[[status-400]]", "[[cut-5]]", "[[cut-clean-4]]", "[[error-in-stream-3]]", "[[empty]]", "[[length-6]]",
    "[[status-429-after-90000]]",
)  # fmt: skip
BEHAVIOURS = {2 * n + 1: name for n, name in enumerate((*HANGING, *TRANSIENT, *OTHERS))}  # of every 40 prompts
NOT_OVER = (
    "SELECT (SELECT count(*) FROM schedules_schedule WHERE next_run_at IS NOT NULL)"
    " + (SELECT count(*) FROM schedules_run WHERE settled_at IS NULL)"
)


@dataclass
class World:
    """Where everything is while the programme runs; `orders` is the folder that killers look into."""

    server: Deployment
    provider: FakeProvider
    orders: Path

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, also when the database is away for a while."""
        return self.act(lambda: self.server.query(sql))

    def act(self, work: Callable[[], _T]) -> _T:
        """Do `work`, again while the database is away: it is made to go away on purpose, for less than a minute."""
        from django.db import InterfaceError, OperationalError, connections

        until = time.monotonic() + PATIENCE
        while True:
            try:
                return work()
            except (OperationalError, InterfaceError, psycopg.OperationalError, sqlite3.OperationalError):
                connections.close_all()
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def unfinished(self) -> int:
        """Return how many schedules are armed and how many runs are open, together."""
        return int(self.query(NOT_OVER)[0][0])

    def statuses(self) -> dict[str, int]:
        """Return for each status how many rows of the ledger have it."""
        return dict(self.query("SELECT status, count(*) FROM schedules_run GROUP BY status ORDER BY status"))


@contextlib.contextmanager
def world(database: str) -> Iterator[World]:
    """Make a deployment with a provider, and point Django of this process at it; everything ends with the block."""
    with (
        tempfile.TemporaryDirectory(prefix="quotidian-faults-") as folder,
        fake_provider(chunks=PIECES, interval=INTERVAL) as provider,
        deployment(
            Path(folder) / "data", database, MAX_CONCURRENT_TURNS="400", MAX_CONCURRENT_PER_OWNER="400"
        ) as server,
    ):
        orders = Path(folder) / "orders"
        (orders / FLUSHES).mkdir(parents=True)
        os.environ.update(server.environment(DJANGO_SETTINGS_MODULE="config.settings"))
        import django
        from django.db import connections

        django.setup()
        server.manage("set_limits", "max_schedules=100000", "min_interval_seconds=60", "max_failures=10000")
        try:
            yield World(server, provider, orders)
        finally:
            connections.close_all()


def seed(here: World, *, occurrences: int, start: datetime, window: timedelta, chance: random.Random) -> None:
    """Add schedules with about `occurrences` occurrences between `start` and the end of `window`, and a backlog."""
    from bench.seed import make_agent, make_owners
    from schedules.models import Schedule

    agent, owners = make_agent(here.provider.port), make_owners(OWNERS)
    rows: list[dict[str, Any]] = [_once(n, start, window, chance) for n in range(occurrences // 2)]
    left, each = occurrences - len(rows), BACKLOG_MINUTES + max(int(window / timedelta(minutes=1)), 1)
    rows += [_interval(n, start, window, chance) for n in range(-(-left // each))]
    Schedule.objects.bulk_create(
        [
            Schedule(
                owner=owners[n % OWNERS], agent=agent, name=f"Programme {n}", zone="UTC", updated_at=start,
                prompt=f"{row.pop('behaviour')} {n} for {{{{date}}}} {{{{time}}}}", **row,
            )
            for n, row in enumerate(rows)
        ],
        batch_size=1_000,
    )  # fmt: skip


def _once(n: int, start: datetime, window: timedelta, chance: random.Random) -> dict[str, Any]:
    at = start + timedelta(seconds=chance.randrange(1, int(window.total_seconds())))
    behaviour = BEHAVIOURS.get(n % 40, "once")
    return {
        "behaviour": behaviour, "retry_window_seconds": RETRY_SECONDS if behaviour in TRANSIENT else 3_600,
        "deadline_seconds": HUNG_SECONDS if behaviour in HANGING else None,
        "cadence": {"kind": "once", "at": _text(at)},
        "created_at": start, "planned_through": start, "next_run_at": at, "next_occurrence_at": at,
        "overlap_policy": "allow",
    }  # fmt: skip


def _interval(n: int, start: datetime, window: timedelta, chance: random.Random) -> dict[str, Any]:
    """A schedule of every minute that has been away: most run all they missed, every eighth lets it be missed."""
    away = n % 8 == 5
    since = start - timedelta(minutes=LONG_AGO_MINUTES if away else BACKLOG_MINUTES)
    first = since + timedelta(seconds=chance.randrange(1, 60))
    return {
        "behaviour": "[[status-400]]" if n % 10 == 3 else "interval",
        "cadence": {"kind": "interval", "every": 1, "unit": "minutes", "anchor": _text(first)},
        "created_at": since, "planned_through": since, "next_run_at": first, "next_occurrence_at": first,
        "until": start + window, "min_gap_seconds": 60,
        "misfire_policy": "miss" if away else "run_all",
        "overlap_policy": ("skip", "queue_one", "replace")[n % 3],
    }  # fmt: skip


def _text(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
