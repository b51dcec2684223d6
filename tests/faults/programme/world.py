"""A fresh deployment for the programme, its schedules in bulk, and what is asked of its database meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.fakes.provider import FakeProvider, fake_provider
from tests.support.processes import Deployment, deployment

OWNERS = 20
BACKLOG_MINUTES = 4  # of schedules that run all they missed
LONG_AGO_MINUTES = 40  # of schedules that miss what is older than their grace
PIECES, INTERVAL = 30, 0.05  # of an answer: 1.5 s, so that text is flushed while it grows
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

    def unfinished(self) -> int:
        """Return how many schedules are armed and how many runs are open, together."""
        return int(self.server.query(NOT_OVER)[0][0])

    def statuses(self) -> dict[str, int]:
        """Return for each status how many rows of the ledger have it."""
        return dict(self.server.query("SELECT status, count(*) FROM schedules_run GROUP BY status ORDER BY status"))


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
        orders.mkdir()
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
    return {
        "behaviour": {3: "[[status-400]]", 7: "[[cut-5]]"}.get(n % 20, "once"),
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
