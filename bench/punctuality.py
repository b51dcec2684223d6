"""How late is the model's request after the nominal instant? `python -m bench.punctuality --database sqlite`

1,000 occurrences due in the same second among 100,000 schedules (one chunk after 1 s each), then one alone.
"""

from __future__ import annotations

import argparse
import time

from bench.deployment import deployment
from bench.due import agree, in_seconds, wait_settled
from bench.figures import report, spread


def main() -> int:
    """Run the bench and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--due", type=int, default=1_000)
    parser.add_argument("--crowd", type=int, default=100_000)
    parser.add_argument("--quiet-rounds", type=int, default=10)
    options = parser.parse_args()
    with deployment(options.database, provider=("--chunks", "1", "--first-delay", "1")) as here:
        from bench import seed
        from core import clock

        owners = seed.make_owners(20)
        agent = seed.make_agent(here.provider_port)
        here.set_limits(
            max_concurrent=options.due, max_concurrent_turns=options.due, max_schedules=options.crowd * 2,
            min_interval_seconds=60,
        )  # fmt: skip
        seed.make_crowd(agent, owners, options.crowd, clock.now())
        here.start_worker()
        due = in_seconds(6)
        seed.make_due(agent, owners, options.due, due)
        wait_settled(due, options.due, limit=90)
        delays = agree(here, due, options.due)
        quiet = [_one(here, agent, owners, seed) for _ in range(options.quiet_rounds)]
    first = delays[:100]
    return report(
        "punctuality",
        {
            "first 100 requests p99 <= 1 s": spread(first)["p99"] <= 1,
            "all requests <= 5 s": max(delays) <= 5,
            "quiet p99 <= 0.3 s": spread(quiet)["p99"] <= 0.3,
        },
        database=options.database,
        schedules=options.crowd + options.due,
        limits=here.limits,
        request_delay=spread(delays),
        first_100=spread(first),
        quiet=spread(quiet),
    )


def _one(here, agent, owners, seed) -> float:
    """Fire one occurrence with nothing else due, and return the delay of its request in seconds."""
    before = len(here.requests())
    due = in_seconds(2)
    seed.make_due(agent, owners, 1, due)
    wait_settled(due, 1, limit=30)
    time.sleep(6)  # longer than a drain lingers, so that the next one starts from rest
    return here.requests()[before]["at"] - due.timestamp()


if __name__ == "__main__":
    raise SystemExit(main())
