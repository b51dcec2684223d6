"""Against one plain django-q2 task per run: `python -m bench.versus_tasks`

The same 500 generations of 1 s, once through the product with its two drain processes, once as a task each on a
cluster of 8 workers that calls the same provider with the same library; in one invocation, on SQLite.
"""

from __future__ import annotations

import argparse
import time

from bench.deployment import Deployment, deployment
from bench.due import agree, in_seconds, wait_settled
from bench.figures import report, tree_memory

LIMIT_SECONDS = 300


def main() -> int:
    """Run both sides and print their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=500)
    parser.add_argument("--workers", type=int, default=8)
    options = parser.parse_args()
    with deployment("sqlite", provider=("--chunks", "20", "--interval", "0.05")) as here:
        ours = _product(here, options.generations)
        plain = _plain(here, options.generations, options.workers)
    ratio = plain["seconds"] / ours["seconds"]
    return report(
        "against one task per run",
        {"throughput >= 15 x": ratio >= 15, "memory no more": ours["memory_pss_mb"] <= plain["memory_pss_mb"]},
        generations=options.generations,
        limits=here.limits,
        product=ours,
        plain_tasks={"workers": options.workers, **plain},
        ratio=round(ratio, 1),
    )


def _product(here: Deployment, number: int) -> dict[str, float]:
    from bench import seed

    owners, agent = seed.make_owners(20), seed.make_agent(here.provider_port)
    here.set_limits(max_concurrent=number, max_concurrent_turns=number, max_schedules=100_000)
    worker = here.start_worker()
    due = in_seconds(5)
    seed.make_due(agent, owners, number, due)
    memory = [0.0]
    last = wait_settled(due, number, limit=90, each=lambda: memory.append(tree_memory(worker.pid)))
    agree(here, due, number)
    worker.terminate()
    worker.wait(60)
    return {"seconds": round((last - due).total_seconds(), 2), "memory_pss_mb": round(max(memory))}


def _plain(here: Deployment, number: int, workers: int) -> dict[str, float]:
    from django_q.tasks import async_task

    here.environment |= {"DJANGO_SETTINGS_MODULE": "bench.plain_settings", "BENCH_WORKERS": str(workers)}
    before = len(here.requests("end"))
    cluster = here.start("manage.py", "qcluster", log="cluster.log")
    time.sleep(4)
    start, memory, done = time.monotonic(), [0.0], 0
    for n in range(number):
        async_task("bench.plain_task.generate", here.provider_port, f"plain prompt {n}")
    while done < number:
        if time.monotonic() - start > LIMIT_SECONDS:
            log = (here.folder / "cluster.log").read_text()[-2000:]
            raise SystemExit(f"void: after {LIMIT_SECONDS} s only {done} of {number} plain tasks had ended\n{log}")
        time.sleep(0.5)
        memory.append(tree_memory(cluster.pid))
        done = sum(1 for entry in here.requests("end")[before:] if entry["outcome"] == "finished")
    seconds = time.monotonic() - start
    cluster.terminate()
    return {"seconds": round(seconds, 2), "memory_pss_mb": round(max(memory))}


if __name__ == "__main__":
    raise SystemExit(main())
