"""What an operator sees first: what is due and running, how the last day went, what is blocked, who is alive.

Every figure is read from an index over few rows or from the newest rows up to a bound, so that the page costs the
same with a million runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import connection
from django.db.models import Count

from chats.domain.states import TurnStatus
from chats.models import Turn, WorkerHost
from chats.selectors.health import clock_age, drain_age
from core.walltime import zone_data_version
from schedules.domain.states import RunStatus
from schedules.models import Run, Schedule

DAY = timedelta(hours=24)
MOST_RUNS = 20_000
"""Newest runs of the day that are looked at; more than that are said to be more."""


@dataclass(frozen=True)
class Now:
    """What is going on at this instant."""

    due: int
    running: int
    queued: int
    approvals: int


@dataclass(frozen=True)
class Day:
    """The last 24 hours: runs by outcome, how late they started in seconds (None without a start), what they cost."""

    outcomes: dict[str, int]
    p50: float | None
    p99: float | None
    started: int
    spent: Decimal
    bounded: bool

    @property
    def total(self) -> int:
        return sum(self.outcomes.values())


@dataclass(frozen=True)
class Engine:
    """Who does the work. Ages are seconds, None when nobody ever did."""

    clock_age: float | None
    drain_age: float | None
    hosts: int
    cluster_restarts: int
    database: str
    zone_data: str


def now_figures(now: datetime) -> Now:
    """Return what is due, running, queued and waiting for a person; four looks at partial indexes."""
    return Now(
        due=Schedule.objects.filter(next_run_at__isnull=False, next_run_at__lte=now).count(),
        running=Turn.objects.filter(status=TurnStatus.RUNNING).count(),
        queued=Turn.objects.filter(status=TurnStatus.QUEUED).count(),
        approvals=Run.objects.filter(settled_at__isnull=True, status=RunStatus.NEEDS_APPROVAL).count(),
    )


def day_figures(now: datetime) -> Day:
    """Return outcomes and delays of the runs that were scheduled for the last 24 hours, the newest 20,000 of them."""
    rows = Run.objects.filter(scheduled_for__gte=now - DAY, scheduled_for__lte=now).order_by("-scheduled_for", "-id")
    outcomes: Counter[str] = Counter()
    delays: list[float] = []
    spent = Decimal(0)
    seen = rows.values_list("status", "kind", "scheduled_for", "started_at", "cost")[: MOST_RUNS + 1]
    read = list(seen)
    for status, kind, scheduled_for, started_at, cost in read[:MOST_RUNS]:
        outcomes[status] += 1
        spent += cost or 0
        if kind == "scheduled" and started_at is not None:
            delays.append(max((started_at - scheduled_for).total_seconds(), 0.0))
    delays.sort()
    return Day(
        outcomes={status.value: outcomes[status] for status in RunStatus if outcomes[status]},
        p50=percentile(delays, 0.50),
        p99=percentile(delays, 0.99),
        started=len(delays),
        spent=spent,
        bounded=len(read) > MOST_RUNS,
    )


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least `share` of the values do not exceed (nearest rank); None of nothing."""
    if not ordered:
        return None
    rank = -(-len(ordered) * round(share * 100) // 100)
    return ordered[max(rank, 1) - 1]


def blocked_by_reason() -> list[tuple[str, int]]:
    """Return how many schedules are blocked for each reason, most first; one look at the index of blocked ones."""
    rows = Schedule.objects.exclude(blocked_reason="").order_by().values_list("blocked_reason")
    return sorted(rows.annotate(n=Count("pk")), key=lambda row: (-row[1], row[0]))


def engine_figures(now: datetime) -> Engine:
    """Return the health of clock, drains, cluster and database."""
    hosts = WorkerHost.objects.filter(stopped_at=None, clock_at__gte=now - timedelta(minutes=1))
    alive = list(hosts.values_list("cluster_restarts", flat=True))
    return Engine(
        clock_age=clock_age(now),
        drain_age=drain_age(now),
        hosts=len(alive),
        cluster_restarts=sum(alive),
        database=_database(),
        zone_data=zone_data_version(),
    )


def _database() -> str:
    version = ".".join(str(part) for part in connection.get_database_version())
    return f"{connection.display_name} {version}"
