"""Erases the schedules and the ledger of somebody who leaves, and what operators were told of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from accounts.services.notices import notices_forget
from core.erasing import batch_of, rows_of
from core.registry import Eraser, Leaving
from schedules.models import Run, Schedule


def schedules_erase(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Erase schedules, whose runs are gone by now; notices to operators name them, so these go as well."""
    ids = batch_of(Schedule, most, owner=leaving.user_id)
    rows = Schedule.objects.filter(pk__in=ids)
    notices_forget(subjects=list(rows.values_list("public_id", flat=True)))
    rows.delete()
    return len(ids)


ERASERS: dict[str, Eraser] = {
    "schedules.Schedule": schedules_erase,
    "schedules.Run": rows_of(Run, "owner"),
}
"""By table, what is pointed to first: it is erased last."""


def agents_used(agent_ids: Sequence[int]) -> Iterable[int]:
    """Return those of the agents that a schedule is on, for `core.registry.register_agents_used`."""
    schedules = Schedule.objects.filter(agent__in=list(agent_ids), deleting_at=None)
    return schedules.values_list("agent_id", flat=True).distinct()


def schedules_count(user_id: int) -> int:
    """Return how many schedules the person has."""
    return Schedule.objects.filter(owner=user_id, deleting_at=None).count()


def runs_count(user_id: int) -> int:
    """Return how many runs the person's ledger has."""
    return Run.objects.filter(owner=user_id).count()
