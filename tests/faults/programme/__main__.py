"""`python -m tests.faults.programme --database sqlite --occurrences 10000 --seed 7 --seconds 450`

Seeds schedules, lets a worker work them off while its processes are killed at every labelled point and elsewhere, and
judges what is left from outside. Prints one JSON object; leaves with 1 when a check fails.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import sys
import time
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any

from tests.faults.programme.chaos import Chaos
from tests.faults.programme.checker import due, judge
from tests.faults.programme.evidence import Evidence, read
from tests.faults.programme.killer import flushes, kills
from tests.faults.programme.owner import Owners, extras_seed
from tests.faults.programme.surroundings import Surroundings
from tests.faults.programme.world import World, seed, world
from tests.support.processes import DeadlinePassed, wait_until

WORKING = 0.6  # of the seconds; the rest is for what is left over
LONG = timedelta(minutes=2)  # of things going wrong: there is time for the slow faults
GONE_SECONDS = 15  # after the worker's end no process of it lives longer


def main() -> int:
    """Run the programme and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--occurrences", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument(
        "--seconds", type=float, default=450, help="at most so long; three fifths of it things go wrong"
    )
    parser.add_argument("--gap", type=float, default=1.0, help="seconds between two faults")
    parser.add_argument("--logs", action="store_true", help="print the worker's logs to stderr as well")
    options = parser.parse_args()
    began = time.monotonic()
    with world(options.database) as here:
        report = _programme(here, options)
        if options.logs:
            print(*(process.output() for process in here.server.processes), sep="\n", file=sys.stderr)
    report["took_seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(report))
    return 0 if report["ok"] else 1


def _programme(here: World, options: argparse.Namespace) -> dict[str, Any]:
    from core import clock

    chance = random.Random(options.seed)
    start = clock.host_now().replace(microsecond=0) + timedelta(seconds=4)
    window = timedelta(seconds=int(options.seconds * WORKING))
    seed(here, occurrences=options.occurrences, start=start, window=window, chance=chance)
    extras = extras_seed(here, start=start, window=window, chance=chance)
    around, owners = Surroundings(here), Owners(here, extras, chance=chance)
    often = owners.faults() | {"fail provider": around.fail_provider}
    chaos = Chaos(here, chance=chance, gap=options.gap, others=around.faults(long=window >= LONG), often=often)
    chaos.run(lambda: clock.host_now() >= start + window)
    here.provider.become(None)
    unfinished = _rest(here, options.seconds * (1 - WORKING))
    code = chaos.end()
    left = _left_over(here)
    seen = read(
        here.query, log=here.provider.log(), flushes=flushes(here.orders), extras=extras, acts=owners.acts,
        moves=around.moves,
    )  # fmt: skip
    checks = judge(seen) | {"unfinished at the end": unfinished, "exit code": code, "processes left over": left}
    hit = kills(here.orders)
    return {
        "programme": "faults",
        "ok": not any(checks.values()) and all(hit.values()),
        "database": options.database,
        "seed": options.seed,
        **_figures(here, seen),
        "kills": hit,
        "faults": dict(sorted(chaos.done.items())),
        "full_disk_felt": around.full_felt,
        "checks": checks,
    }


def _left_over(here: World) -> int:
    """Return how many processes of any worker that ran here still live some seconds after the last one's end."""
    with suppress(DeadlinePassed):
        wait_until(lambda: not here.server.leftovers(), seconds=GONE_SECONDS, every=0.5)
    return len(here.server.leftovers())


def _rest(here: World, seconds: float) -> int:
    """Wait until nothing is armed and nothing open; return how much was left of both after `seconds`."""
    try:
        wait_until(lambda: here.unfinished() == 0, seconds=seconds, every=0.5)
    except DeadlinePassed:
        return here.unfinished()
    return 0


def _figures(here: World, seen: Evidence) -> dict[str, Any]:
    extras = {extra.id for extra in seen.extras}
    judged = [schedule for schedule in seen.schedules if schedule.id not in extras]
    return {
        "schedules": len(seen.schedules),
        "occurrences": sum(len(due(schedule)) for schedule in judged),
        "rows": len(seen.runs),
        "statuses": here.statuses(),
        "acts": dict(sorted(Counter(act.name for act in seen.acts).items())),
        "calls": len(seen.calls),
        "provider": dict(sorted(Counter(call.behaviour for call in seen.calls).items())),
        "characters_flushed": sum(characters for _, _, characters in seen.flushes),
    }


if __name__ == "__main__":
    raise SystemExit(main())
