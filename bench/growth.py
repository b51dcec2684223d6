"""What does it cost when there is more? `python -m bench.growth --database sqlite`

The same 1,000 schedules due at 1,000, 10,000, 100,000 (and on PostgreSQL 1,000,000) schedules and as many settled
runs: firing them, a tick with nothing due, a drain's look at
an empty queue, a look for what needs recovery, and the panel of somebody with 50 schedules and 1,000 runs. Each cold (a
new connection) and warm, in this process, without a worker.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from bench.deployment import deployment
from bench.figures import percentile, report

SIZES = {"sqlite": [1_000, 10_000, 100_000], "postgresql": [1_000, 10_000, 100_000, 1_000_000]}
DUE, TIMES = 1_000, 40
MOST_GROWTH = 1.5


def main() -> int:
    """Run the bench and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=list(SIZES), default="sqlite")
    parser.add_argument("--largest", type=int, default=1_000_000)
    options = parser.parse_args()
    sizes = [size for size in SIZES[options.database] if size <= options.largest]
    with deployment(options.database) as here:
        here.manage("collectstatic", "--noinput", "--verbosity", "0")
        figures = _grown(here.provider_port, sizes)
    first = figures[0]
    names = [name for name in first if name != "size"]
    growth = {name: round(max(each[name] for each in figures) / first[name], 2) for name in names}
    return report(
        "growth",
        {f"{name} flat within {MOST_GROWTH}": ratio <= MOST_GROWTH for name, ratio in growth.items()},
        database=options.database,
        milliseconds=figures,
        growth=growth,
    )


def _grown(port: int, sizes: list[int]) -> list[dict[str, float]]:
    from bench import seed
    from chats.services.hosts import host_open
    from core import clock

    owners, agent = seed.make_owners(21), seed.make_agent(port)
    reader, others = owners[0], owners[1:]
    host_open(name="bench", hostname="bench", now=clock.now())
    seed.make_crowd(agent, [reader], 50, clock.now())
    seed.make_history(1_000, clock.now())
    figures, there = [], 0
    for size in sizes:
        seed.make_crowd(agent, others, size - there, clock.now())
        seed.make_history(size - there, clock.now() - timedelta(days=30 * len(str(size))))
        there = size
        figures.append({"size": size} | _measured(agent, others, reader))
    return figures


def _measured(agent: Any, others: list[Any], reader: Any) -> dict[str, float]:
    fire_cold, fire_warm = _fire(agent, others, cold=True), _fire(agent, others, cold=False)
    tick, panel = _tick(), _panel(reader)
    return {
        "fire_cold": fire_cold,
        "fire_warm": fire_warm,
        "look": _median(_look),
        "recovery": _median(_recovery),
        "tick_cold": _cold(tick),
        "tick_warm": _median(tick),
        "panel_cold": _cold(panel),
        "panel_warm": _median(panel),
    }


def _fire(agent: Any, owners: list[Any], *, cold: bool) -> float:
    """Return the milliseconds in which 1,000 due schedules are fired; their rows are removed again."""
    from bench import seed
    from chats.models import Turn
    from core import clock
    from schedules.models import Run, Schedule
    from schedules.services.firing import fire_due

    due = clock.now().replace(microsecond=0)
    seed.make_due(agent, owners, DUE, due)
    if cold:
        _forget()
    start = time.perf_counter()
    while fire_due(now=due).looked:
        pass
    took = (time.perf_counter() - start) * 1_000
    fired = Run.objects.filter(scheduled_for=due)
    assert fired.count() == DUE, "void: not every due schedule was fired"
    turns, ids = list(fired.values_list("turn_id", flat=True)), list(fired.values_list("schedule_id", flat=True))
    Schedule.objects.filter(pk__in=ids).update(last_run=None)
    fired.delete()
    Turn.objects.filter(pk__in=turns).delete()
    Schedule.objects.filter(pk__in=ids).delete()
    return round(took, 1)


def _look() -> None:
    """What a drain asks ten times a second."""
    from chats.services.turns_claim import turns_claim
    from core import clock

    turns_claim(worker="bench/1/x", most=50, now=clock.now())


def _recovery() -> None:
    """What a clock looks for every five seconds."""
    from chats.selectors.health import drains_needed
    from core import clock
    from schedules.services.reconcile import reconcile

    reconcile(now=clock.now())
    drains_needed(clock.now(), older_than=0.0)


def _tick() -> Callable[[], Any]:
    from core import clock
    from schedules.clock import Clock

    ticking = Clock(host="bench")
    ticking.tick(clock.now())  # the first one reconciles
    return lambda: ticking.tick(clock.now())


def _panel(reader: Any) -> Callable[[], Any]:
    from django.test import Client

    client = Client(headers={"host": "localhost"})
    client.force_login(reader)

    def load() -> None:
        assert client.get("/panel/").status_code == 200, "void: the panel did not answer"

    load()
    return load


def _cold(act: Callable[[], Any]) -> float:
    """Return the median milliseconds of `act` over new connections."""
    took = []
    for _ in range(5):
        _forget()
        took.append(_took(act))
    return round(percentile(took, 0.5), 2)


def _median(act: Callable[[], Any]) -> float:
    return round(percentile([_took(act) for _ in range(TIMES)], 0.5), 2)


def _took(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    act()
    return (time.perf_counter() - start) * 1_000


def _forget() -> None:
    from django.db import connections

    connections.close_all()


if __name__ == "__main__":
    raise SystemExit(main())
