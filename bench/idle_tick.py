"""What does a tick cost when nothing is due? `python -m bench.idle_tick --database sqlite`

In this process, the read of the clock included: 1,000 ticks with 1,000,000 schedules, of which 10,000 each are
blocked, paused and completed.
"""

from __future__ import annotations

import argparse
import time

from bench.deployment import deployment
from bench.figures import report, spread


def main() -> int:
    """Run the bench and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--schedules", type=int, default=1_000_000)
    parser.add_argument("--ticks", type=int, default=1_000)
    options = parser.parse_args()
    with deployment(options.database) as here:
        from bench import seed
        from chats.services.hosts import host_open
        from core import clock
        from schedules.clock import Clock

        owners, agent = seed.make_owners(20), seed.make_agent(here.provider_port)
        seed.make_resting(agent, owners, 10_000, clock.now())
        host_open(name="bench", hostname="bench", now=clock.now())
        small = _ticks(Clock(host="bench"), options.ticks)
        seed.make_crowd(agent, owners, options.schedules - 30_000, clock.now())
        figures = _ticks(Clock(host="bench"), options.ticks)
    return report(
        "idle tick",
        {"p99 <= 2 ms": figures["p99"] <= 2, "flat within 1.5": figures["p50"] <= 1.5 * small["p50"]},
        database=options.database,
        schedules=options.schedules,
        milliseconds=figures,
        milliseconds_with_30_000=small,
    )


def _ticks(ticking, number: int) -> dict[str, float]:
    from core import clock

    ticking.tick(clock.now())
    took = []
    for _ in range(number):
        start = time.perf_counter()
        ticking.tick(clock.now())
        took.append((time.perf_counter() - start) * 1000)
    return spread(took)


if __name__ == "__main__":
    raise SystemExit(main())
