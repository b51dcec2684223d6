"""What `projects` asks about the schedules that file into its projects; registered at start-up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Count, QuerySet

from accounts.models import User
from core.db import locked
from core.errors import Refusal
from projects.domain.destination import decide_write
from projects.selectors import policies_for
from schedules import lifecycle
from schedules.models import Run, Schedule
from schedules.services.replacing import turns_hold

MOST_NAMES = 50


class ScheduleFiling:
    """The room `schedules` of `core.registry.ProjectHolder`."""

    def counts(self, project_ids: Sequence[int]) -> dict[int, int]:
        rows = _filed(project_ids).values_list("project_id").annotate(n=Count("pk"))
        return dict(rows)

    def names(self, project_id: int) -> list[str]:
        return list(_filed([project_id]).order_by("name", "id").values_list("name", flat=True)[:MOST_NAMES])

    def project_going(self, project_id: int, *, moves: bool, move_to: int | None, now: datetime) -> None:
        """Move the schedules and their waiting runs; what is left behind is refused and blocked at its next fire (P8).

        The owner decides about the project alone, so nothing else of a schedule is asked: one whose agent is switched
        off moves as well.
        """
        if not moves:
            return
        for schedule in _filed([project_id]).order_by("pk"):
            turns_hold(schedule)
            row = locked(Schedule.objects.filter(pk=schedule.pk).select_related("agent")).get()
            _ask_policy(row, move_to)
            columns = {"project_id": move_to, "revision": row.revision + 1, "updated_at": now}
            Schedule.objects.filter(pk=row.pk).update(**columns)
            for name, value in columns.items():
                setattr(row, name, value)
            lifecycle.refresh_unstarted(row, now=now)


def _ask_policy(schedule: Schedule, move_to: int | None) -> None:
    """Raise Refusal at `project` when requirement or pin forbid the move (P2, P3)."""
    there = {move_to} if move_to is not None else set()
    policy = policies_for([schedule.owner_id])[schedule.owner_id]
    decision = decide_write(
        sent=move_to,
        stored=schedule.project_id,
        strict=schedule.enabled,
        policy=policy,
        existing=there,
        pickable=there,
    )
    if decision.refused:
        raise Refusal.at("project", decision.refused, project=policy.pin_name)


def used_schedules(owner: User) -> int:
    """Return how many schedules count for the cap: paused and blocked ones do, completed ones do not."""
    return Schedule.objects.filter(owner=owner, deleting_at=None, completed_at=None).count()


def run_ids(turn_ids: Sequence[int]) -> dict[int, str]:
    """Return the public id of the run that caused each turn, for `core.registry.register_run_ids`."""
    return dict(Run.objects.filter(turn__in=list(turn_ids)).values_list("turn_id", "public_id"))


def _filed(project_ids: Sequence[int]) -> QuerySet[Schedule]:
    return Schedule.objects.filter(project__in=list(project_ids), deleting_at=None)
