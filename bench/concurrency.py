"""How many answers stream at once? `python -m bench.concurrency --database sqlite --streams 500`

Generations of 10 s at 20 chunks a second, two drain processes, ledger and messages stored, beside a writer that
inserts every 20 ms.
"""

from __future__ import annotations

import argparse
import threading
import time

from bench.deployment import deployment
from bench.due import agree, in_seconds, wait_settled
from bench.figures import report, spread, tree_memory


def main() -> int:
    """Run the bench and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    words = ("--chunks", str(options.seconds * 20), "--interval", "0.05")
    with deployment(options.database, provider=words) as here:
        from bench import seed

        owners, agent = seed.make_owners(20), seed.make_agent(here.provider_port)
        here.set_limits(max_concurrent=options.streams, max_concurrent_turns=options.streams, max_schedules=100_000)
        worker = here.start_worker()
        due = in_seconds(5)
        seed.make_due(agent, owners, options.streams, due)
        memory, writer = [0.0], OtherWriter()
        writer.start()
        last = wait_settled(due, options.streams, limit=120, each=lambda: memory.append(tree_memory(worker.pid)))
        writer.over.set()
        writer.join()
        delays = agree(here, due, options.streams)
    makespan = (last - due).total_seconds()
    return report(
        "concurrency",
        {
            "makespan <= 1.3 x": makespan <= 1.3 * options.seconds,
            "memory <= 350 MB": max(memory) <= 350,
            "other writers p99 <= 50 ms": spread(writer.took)["p99"] <= 50,
        },
        database=options.database,
        streams=options.streams,
        limits=here.limits,
        makespan_seconds=round(makespan, 2),
        ratio=round(makespan / options.seconds, 3),
        request_delay=spread(delays),
        memory_pss_mb=round(max(memory)),
        other_writer_ms=spread(writer.took),
    )


class OtherWriter(threading.Thread):
    """Inserts a row every 20 ms and keeps how long each insert took, in milliseconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over, self.took = threading.Event(), list[float]()

    def run(self) -> None:
        from accounts.models import Notice, User
        from core import clock

        user = User.objects.order_by("pk").first()
        assert user is not None
        number = 0
        while not self.over.wait(0.02):
            number += 1
            start = time.perf_counter()
            Notice.objects.create(user=user, code="run_settled", dedupe_key=f"bench:{number}", created_at=clock.now())
            self.took.append((time.perf_counter() - start) * 1000)


if __name__ == "__main__":
    raise SystemExit(main())
