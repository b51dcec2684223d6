"""Do several hosts of one name share the work of one PostgreSQL? `python -m bench.hosts --hosts 5 --broker orm`

10,000 occurrences over 60 s of due time, five worker commands that see the same host name, capacity 2,000, a provider
that answers after 200 ms. With `--broker redis` the hints go through the Redis database `BENCH_REDIS`, which must be
empty, is the bench's own meanwhile, and is flushed half-way.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import psutil
import redis

from bench.deployment import deployment
from bench.due import agree_each, in_seconds, stages
from bench.figures import report, spread, tree_cpu

REDIS = os.environ.get("BENCH_REDIS", "redis://127.0.0.1:6379/9")
REST_SECONDS = 60  # for what is left after the last is due; then the figures are void
LATEST = 5.0


def main() -> int:
    """Run the bench and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=5)
    parser.add_argument("--occurrences", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--capacity", type=int, default=2_000)
    parser.add_argument("--broker", choices=["orm", "redis"], default="orm")
    options = parser.parse_args()
    answering = ("--chunks", "1", "--first-delay", "0.2")
    with (
        _redis(options.broker) as broker,
        deployment("postgresql", provider=answering, redis="" if broker is None else REDIS) as here,
    ):
        from bench import seed

        owners, agent = seed.make_owners(20), seed.make_agent(here.provider_port)
        most = options.capacity
        here.set_limits(max_concurrent=most, max_concurrent_turns=most, max_schedules=100_000)
        workers = here.start_workers(options.hosts)
        first = in_seconds(15)  # longer than the schedules take to be written
        plan = seed.make_spread(agent, owners, options.occurrences, first, options.seconds)
        seen = Watch(workers, first, options.seconds, broker).until_settled(len(plan))
        delays = agree_each(here, plan)
        names = _names()
    return report(
        "hosts",
        {
            "no request later than 5 s": max(delays.values()) <= LATEST,
            "every host took part": len(seen["leases_seen_of_hosts"]) == len(names) == options.hosts,
        },
        broker=options.broker,
        hosts=options.hosts,
        host_names=len(set(names.values())),
        occurrences=options.occurrences,
        due_seconds=options.seconds,
        limits=here.limits,
        request_delay=spread(list(delays.values())),
        latest_of_each_tenth=by_tenth(plan, delays),
        **seen,
    )


class Watch:
    """Looks once a second at what the hosts do, flushes the broker half-way, and says what was seen."""

    def __init__(
        self, workers: list[subprocess.Popen], first: datetime, seconds: int, broker: redis.Redis | None
    ) -> None:
        self.workers, self.broker, self.flushed = workers, broker, 0
        self.half, self.last = first + timedelta(seconds=seconds / 2), first + timedelta(seconds=seconds - 1)
        self.leases, self.late = Counter[str](), self.last + timedelta(seconds=REST_SECONDS)

    def until_settled(self, number: int) -> dict[str, Any]:
        """Return what was seen once `number` runs have settled; SystemExit when that takes too long."""
        from core import clock

        psutil.cpu_percent()
        before = self._cpu()
        while (settled := self._settled()) < number:
            now = clock.now()
            if now > self.late or any(worker.poll() is not None for worker in self.workers):
                raise SystemExit(f"void: only {settled} of {number} runs had settled, or a worker ended")
            self._look(now)
            time.sleep(1)
        return {
            "settled_after_last_due_seconds": round((self._last_settled() - self.last).total_seconds(), 2),
            "leases_seen_of_hosts": sorted(self.leases.values(), reverse=True),
            "keys_flushed": self.flushed,
            "worker_cpu_ms_per_run": round((self._cpu() - before) * 1000 / number, 2),
            "machine_busy_percent": psutil.cpu_percent(),
            "stages": stages(),
        }

    def _look(self, now: datetime) -> None:
        from chats.models import Turn

        holders = Turn.objects.filter(status="running").values_list("leased_by", flat=True)
        self.leases.update(holder.split("/")[0] for holder in holders)
        if self.broker is not None and now >= self.half and not self.flushed:
            self.flushed = int(self.broker.dbsize())  # type: ignore[arg-type]  # the stubs know the awaited kind too
            self.broker.flushdb()

    def _cpu(self) -> float:
        return sum(tree_cpu(worker.pid) for worker in self.workers)

    @staticmethod
    def _settled() -> int:
        from schedules.models import Run

        return Run.objects.filter(settled_at__isnull=False).count()

    @staticmethod
    def _last_settled() -> datetime:
        from schedules.models import Run

        last = Run.objects.order_by("-settled_at").values_list("settled_at", flat=True)[0]
        assert last is not None
        return last


def by_tenth(plan: dict[str, datetime], delays: dict[str, float]) -> list[float]:
    """Return the longest delay of what is due in each tenth of the time: one that grows says that work piles up."""
    first, longest = min(plan.values()), [0.0] * 10
    width = (max(plan.values()) - first + timedelta(seconds=1)) / 10
    for prompt, due in plan.items():
        tenth = int((due - first) / width)
        longest[tenth] = max(longest[tenth], round(delays[prompt], 2))
    return longest


def _names() -> dict[str, str]:
    """Return of each worker command the name of its own, and the host name it saw."""
    from chats.models import WorkerHost

    return dict(WorkerHost.objects.values_list("name", "hostname"))


@contextlib.contextmanager
def _redis(kind: str) -> Iterator[redis.Redis | None]:
    """Lend the Redis database for the length of the block; one that holds anything is somebody else's."""
    if kind != "redis":
        yield None
        return
    connection = redis.Redis.from_url(REDIS)
    if connection.dbsize():
        raise SystemExit(f"{REDIS} is not empty, and the bench would flush it: name another one in BENCH_REDIS")
    try:
        yield connection
    finally:
        connection.flushdb()
        connection.close()


if __name__ == "__main__":
    raise SystemExit(main())
