"""Are 100 healthy schedules asked for within a second beside rows nobody can read? `python -m bench.unreadable`

Four rows are written past every check and due in the same second: an unreadable cadence, an unknown zone, a rule that
never yields, and an agent whose row is gone.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from datetime import datetime
from typing import Any

from bench.deployment import deployment
from bench.due import in_seconds, stages
from bench.figures import report, spread

HEALTHY = 100
REASONS = {
    "cadence": "cadence_invalid",
    "zone": "zone_unknown",
    "rule": "cadence_never_fires",
    "agent": "agent_deleted",
}
WRITTEN = [
    """UPDATE schedules_schedule SET cadence = '"every morning, please"' WHERE name = 'cadence'""",
    """UPDATE schedules_schedule SET zone = 'Atlantis/Poseidonis' WHERE name = 'zone'""",
    """UPDATE schedules_schedule SET cadence = '{"kind": "rrule", "dtstart": "2020-01-01T08:00",
       "rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}' WHERE name = 'rule'""",
]
GONE = "DELETE FROM agents_agent WHERE name = 'Gone'"
UNASKED = {"postgresql": "SET session_replication_role = replica", "sqlite": "PRAGMA foreign_keys = OFF"}
"""What makes this session delete a row that others point to."""


def main() -> int:
    """Run the bench and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--ticks", type=int, default=1_000)
    options = parser.parse_args()
    with deployment(options.database) as here:
        from bench.seed import make_agent

        agent = make_agent(here.provider_port)
        worker = here.start_worker()
        due = in_seconds(8)
        seed(agent, due)
        _wait_settled(due)
        refused, blocked = verdicts()
        waited = stages()
        delays = sorted(entry["at"] - due.timestamp() for entry in here.requests())
        worker.terminate()
        worker.wait(40)
        ticks = spread(idle_ticks(options.ticks))
    return report(
        "unreadable",
        {
            "100 healthy requests within 1 s": len(delays) == HEALTHY and delays[-1] <= 1,
            "each refused and blocked with its own reason": refused == blocked == REASONS,
            "the next tick <= 2 ms": ticks["p50"] <= 2,
        },
        database=options.database,
        request_delay=spread(delays),
        stages=waited,
        next_ticks_milliseconds=ticks,
    )


def seed(agent: Any, due: datetime) -> None:
    """Write a hundred healthy schedules of `agent` and four broken ones, all due at `due`."""
    from agents.models import Agent
    from bench.seed import make_due, make_owners
    from schedules.models import Schedule

    owners = make_owners(20)
    gone = Agent.objects.create(name="Gone", model=agent.model, created_at=due)
    make_due(agent, owners, HEALTHY, due)
    make_due(agent, owners, len(REASONS), due)
    for row, name in zip(Schedule.objects.order_by("-pk")[: len(REASONS)], REASONS, strict=True):
        of = {"agent": gone} if name == "agent" else {}
        Schedule.objects.filter(pk=row.pk).update(name=name, prompt=name, **of)
    _break()


def _break() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in [*WRITTEN, UNASKED[connection.vendor], GONE]:
            cursor.execute(statement)
    connection.close()  # the next statement asks for foreign keys again


def verdicts() -> tuple[dict[str, str], dict[str, str]]:
    """Return name -> reason of what was refused, and of what is blocked and armed no more."""
    from schedules.models import Run, Schedule

    refused = dict(Run.objects.filter(status="refused").values_list("name", "reason"))
    resting = Schedule.objects.filter(next_run_at=None).exclude(blocked_reason="")
    return refused, dict(resting.values_list("name", "blocked_reason"))


def _states() -> list[tuple[str, str]]:
    from schedules.models import Run

    return [(status, turn) for status, turn in Run.objects.values_list("status", "turn__status")]


def _wait_settled(due: datetime) -> None:
    from core import clock
    from schedules.models import Run

    while Run.objects.filter(settled_at__isnull=False).count() < HEALTHY + len(REASONS):
        if (clock.now() - due).total_seconds() > 40:
            raise SystemExit(f"void: not every run had settled after 40 s: {Counter(_states())}")
        time.sleep(1)


def idle_ticks(number: int) -> list[float]:
    """Return how long ticks take once the broken rows rest, in milliseconds; SystemExit when one finds work."""
    from chats.services.hosts import host_open
    from core import clock
    from schedules.clock import Clock

    host_open(name="looker", hostname="looker", now=clock.now())
    ticking, took = Clock(host="looker"), []
    ticking.tick(clock.now())
    for _ in range(number):
        start = time.perf_counter()
        if ticking.tick(clock.now()):
            raise SystemExit("void: a tick found work")
        took.append((time.perf_counter() - start) * 1000)
    return took


if __name__ == "__main__":
    raise SystemExit(main())
