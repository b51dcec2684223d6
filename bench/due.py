"""Waits for what is due in one second, and checks that provider, ledger and plan agree: otherwise figures are void."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from bench.deployment import Deployment
from bench.figures import spread


def in_seconds(seconds: float) -> datetime:
    """Return the whole second that is at least `seconds` from now."""
    from core import clock

    return (clock.now() + timedelta(seconds=seconds + 1)).replace(microsecond=0)


def wait_settled(due: datetime, number: int, *, limit: float, each: Callable[[], None] = lambda: None) -> datetime:
    """Wait until `number` runs of `due` have settled; return when the last did. `each` is called every two seconds.

    Raises SystemExit when that takes longer than `limit` seconds after `due`.
    """
    from core import clock
    from schedules.domain.states import OPEN
    from schedules.models import Run

    while True:
        runs = Run.objects.filter(scheduled_for=due)
        settled = runs.exclude(status__in=OPEN)
        if settled.count() >= number:
            last = settled.order_by("-settled_at").values_list("settled_at", flat=True)[0]
            assert last is not None
            return last
        if clock.now() > due + timedelta(seconds=limit):
            raise SystemExit(f"void: after {limit} s only {settled.count()} of {number} runs had settled")
        each()
        time.sleep(2)


def agree(here: Deployment, due: datetime, number: int) -> list[float]:
    """Return the delay of each request after `due`, in seconds, sorted; void unless log = ledger = due."""
    from schedules.models import Run

    requests = here.requests()
    prompts = Counter(entry["prompt"] for entry in requests)
    ledger = Counter(Run.objects.filter(scheduled_for=due).values_list("status", flat=True))
    if len(requests) != number or len(prompts) != number or ledger != {"succeeded": number}:
        raise SystemExit(f"void: {len(requests)} requests, {len(prompts)} prompts, ledger {dict(ledger)}, due {number}")
    return sorted(entry["at"] - due.timestamp() for entry in requests)


def agree_each(here: Deployment, plan: dict[str, datetime]) -> dict[str, float]:
    """Return how long after the instant that `plan` names for it each prompt was asked for, in seconds.

    Void unless each was asked for once, and the ledger holds one success of it at that instant and nothing else.
    """
    from schedules.models import Run

    requests = here.requests()
    prompts = Counter(entry["prompt"] for entry in requests)
    ledger = Counter(Run.objects.values_list("prompt", "scheduled_for", "status"))
    if prompts != Counter(list(plan)) or ledger != Counter((prompt, at, "succeeded") for prompt, at in plan.items()):
        statuses = Counter(status for _, _, status in ledger.elements())
        raise SystemExit(
            f"void: {len(requests)} requests, {len(prompts)} prompts, ledger {dict(statuses)}, due {len(plan)}"
        )
    return {entry["prompt"]: entry["at"] - plan[entry["prompt"]].timestamp() for entry in requests}


def stages() -> dict[str, dict[str, float]]:
    """Return how long runs waited to be opened, leased, sent and settled, each after the step before, in seconds.

    `opened` counts from the nominal instant to the tick that found it; what firing takes shows in `leased`.
    """
    from schedules.models import Run

    steps = ("scheduled_for", "opened_at", "turn__leased_at", "turn__first_dispatched_at", "settled_at")
    rows = Run.objects.filter(turn__first_dispatched_at__isnull=False).values_list(*steps)
    times = zip(("opened", "leased", "dispatched", "settled"), range(1, len(steps)), strict=True)
    return {name: spread([(row[at] - row[at - 1]).total_seconds() for row in rows]) for name, at in times}
