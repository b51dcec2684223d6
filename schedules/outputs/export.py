"""The schedules and the ledger of one person as files, for `core.registry.register_exporter`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from accounts.models import User
from core.wire import pretty
from schedules.models import Run
from schedules.outputs.wire import run_out, schedule_out
from schedules.selectors.lists import runs_of, schedule_rows, schedules_of


def schedules_export(user: User) -> Iterator[tuple[str, str]]:
    """Yield the schedules, once as JSON and once to read, and the ledger month by month."""
    shown = [schedule_out(row) for row in schedule_rows(schedules_of(user).order_by("pk"))]
    yield "schedules.json", pretty(shown)
    parts = [f"## {one['name']}\n\n{one['description']} ({one['zone']})\n\n{one['prompt']}\n" for one in shown]
    yield "schedules.md", "\n".join(["# Schedules\n", *parts])
    rows = runs_of(user).order_by("scheduled_for", "pk").iterator(chunk_size=500)
    for month, runs in groupby(rows, key=_month):
        yield f"runs/{month}.json", pretty([run_out(run) for run in runs])


def _month(run: Run) -> str:
    return run.scheduled_for.strftime("%Y-%m")
