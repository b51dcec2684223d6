"""The engine by hand: what clock, drain and recovery do, one step at a time, at the instants a test names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, connections

from accounts.models import Notice, User
from chats.models import Conversation, Message, Turn, TurnAttempt
from chats.services.turns_claim import turns_claim
from chats.services.turns_settle import Ended, turns_settle
from chats.services.turns_start import Work, turns_dispatch, turns_start
from schedules.models import Run, Schedule
from schedules.services.firing import fire_due
from tests.factories import NOW, make_schedule

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
HOURLY = {"kind": "hourly", "minute": 0}


def due_schedule(owner: User, *, at: datetime = NOW, **fields: Any) -> Schedule:
    """Return a schedule that is due at `at` and has nothing unopened before; hourly unless `cadence` is given."""
    fields = {
        "cadence": HOURLY,
        "planned_through": at - MINUTE,
        "next_run_at": at,
        "next_occurrence_at": at,
        **fields,
    }
    return make_schedule(owner=owner, **fields)


def fire(now: datetime = NOW) -> int:
    """Fire until nothing is due, as a tick does; return how many runs were queued."""
    queued = 0
    for _ in range(50):
        fired = fire_due(now=now)
        queued += fired.queued
        if fired.looked == 0:
            return queued
    raise AssertionError("firing never came to an end")


def ledger(schedule: Schedule) -> list[tuple[str, str, datetime]]:
    """Return (status, reason, occurrence) of every row of `schedule`, oldest occurrence first."""
    rows = Run.objects.filter(schedule=schedule).order_by("scheduled_for", "pk")
    return list(rows.values_list("status", "reason", "scheduled_for"))


def queued_run(owner: User, *, at: datetime = NOW, **fields: Any) -> Run:
    """Return the queued run of a new schedule that was due and fired at `at`."""
    schedule = due_schedule(owner, at=at, **fields)
    fire(at)
    return Run.objects.get(schedule=schedule)


def claim(now: datetime = NOW, *, worker: str = "host/1/a", most: int = 25) -> list[Turn]:
    """Lease queued turns."""
    return turns_claim(worker=worker, most=most, now=now)


def begin(now: datetime = NOW, *, worker: str = "host/1/a", most: int = 25) -> list[Work]:
    """Lease, start and dispatch, as a drain does; return what may call its model."""
    works = turns_start(turns=claim(now, worker=worker, most=most), now=now)
    turns_dispatch(works=works, now=now)
    return works


def ended(work: Work, how: str = "answered", text: str = "Good morning.", **more: Any) -> Ended:
    """Return how the call of `work` ended; chance 0 makes a retry wait half of its back-off."""
    return Ended(**{"turn_id": work.turn.pk, "fence": work.fence, "how": how, "text": text, "chance": 0.0, **more})


def failed(work: Work, code: str = "provider_unreachable", **more: Any) -> Ended:
    """Return a failure that is safe to repeat, unless `more` says otherwise."""
    return ended(work, "failed", **{"text": "", "code": code, "certainty": "definite", "retryable": True, **more})


def settle(*ends: Ended, now: datetime = NOW) -> set[int]:
    """Write how calls ended."""
    return turns_settle(ends=ends, now=now)


def row(thing: Any) -> dict[str, Any]:
    """Return the stored row of `thing`, column by column."""
    return type(thing).objects.filter(pk=thing.pk).values().get()


def row_gone(thing: Any) -> None:
    """Delete the row past Django; the constraint is asked at the end of the transaction, which a test never reaches."""
    with connection.cursor() as cursor:
        cursor.execute(f'DELETE FROM "{type(thing)._meta.db_table}" WHERE id = %s', [thing.pk])


def everything() -> dict[str, list[dict[str, Any]]]:
    """Return every row that the end of a turn may touch."""
    tables = (Turn, TurnAttempt, Message, Conversation, Run, Schedule, Notice)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in tables}  # type: ignore[attr-defined]


def at_once(acts: Sequence[Callable[[], Any]], *, seconds: float = 20) -> list[Any]:
    """Run `acts` in a thread each, all let go together; return what each returned, in order. Raises what one raised."""
    ready = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        try:
            ready.wait(seconds)
            return act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result(seconds) for future in [pool.submit(run, act) for act in acts]]


def postgresql() -> bool:
    """Return whether the tests run on PostgreSQL, where two transactions can be open at once."""
    return connection.vendor == "postgresql"
