"""The only writer of a schedule's state: switched on or off, blocked, completed, being deleted, and its counters.

`next_run_at` is null unless the schedule is on, so every move off clears it; `services/arming` sets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, Subquery

from core.db import update_many
from schedules.domain.states import RunStatus
from schedules.domain.streaks import Counters
from schedules.lifecycle.runs import end_retries
from schedules.models import Run, Schedule

_OFF: dict[str, Any] = {"next_run_at": None, "next_occurrence_at": None}


def _write(schedule: Schedule, **columns: Any) -> None:
    Schedule.objects.filter(pk=schedule.pk).update(**columns)
    for name, value in columns.items():
        setattr(schedule, name, value)


def pause(schedule: Schedule, *, now: datetime) -> None:
    """Switch off by the owner. A run in its retry wait ends with the error of its last attempt (Pause)."""
    end_retries(schedule, now=now)
    _write(schedule, enabled=False, paused_at=now, updated_at=now, **_OFF)


def enable(schedule: Schedule, *, now: datetime) -> None:
    """Switch on: the block and both streaks are cleared (R14). Arming is the caller's next step."""
    _write(
        schedule,
        enabled=True,
        paused_at=None,
        blocked_reason="",
        blocked_params={},
        blocked_at=None,
        failure_streak=0,
        balance_skip_streak=0,
        streak_through=None,
        updated_at=now,
    )


def unblock(schedule: Schedule, *, now: datetime) -> None:
    """Take the block away after an edit for which the gate gives the reason no longer; streaks stay."""
    _write(schedule, blocked_reason="", blocked_params={}, blocked_at=None, updated_at=now)


def block(schedule: Schedule, *, reason: str, params: dict[str, Any], now: datetime) -> bool:
    """Block an unblocked schedule; false when it was blocked or on its way out already (R13: once)."""
    moved = Schedule.objects.filter(pk=schedule.pk, blocked_reason="", deleting_at__isnull=True).update(
        blocked_reason=reason, blocked_params=params, blocked_at=now, **_OFF
    )
    if moved:
        for name, value in {"blocked_reason": reason, "blocked_params": params, "blocked_at": now, **_OFF}.items():
            setattr(schedule, name, value)
    return bool(moved)


def complete(schedule: Schedule, *, now: datetime) -> None:
    """Nothing is left to run: still listed, not armed, an edit extends it."""
    _write(schedule, completed_at=now, **_OFF)


def reopen(schedule: Schedule, *, now: datetime) -> None:
    """Undo a completion: the rule was extended, or a run that counted for `max_runs` never reached a model."""
    _write(schedule, completed_at=None)


def mark_deleting(schedule: Schedule, *, now: datetime) -> None:
    """Hide it and make it unclaimable at once."""
    _write(schedule, deleting_at=now, updated_at=now, **_OFF)


def erase(schedule: Schedule, *, now: datetime) -> None:
    """Remove the schedule with its runs and their text; conversations stay."""
    Schedule.objects.filter(pk=schedule.pk).update(last_run=None)
    Run.objects.filter(schedule=schedule).delete()
    schedule.delete()


def write_counters(counted: Sequence[tuple[Schedule, Counters]], *, now: datetime) -> None:
    """Store the counters of many schedules; the caller holds their rows."""
    columns = [
        "succeeded_count", "reached_count", "failure_streak", "balance_skip_streak", "streak_through", "counters_as_of",
        "recent_costs",
    ]  # fmt: skip
    rows = [
        (
            c.succeeded, c.reached, c.failure_streak, c.balance_skip_streak, c.through, now,
            [str(cost) for cost in c.costs], schedule.pk,
        )
        for schedule, c in counted
    ]  # fmt: skip
    update_many(Schedule, columns, rows)


def show_last(runs: Iterable[Run]) -> None:
    """Make each run the one its card shows, unless a newer occurrence is shown already."""
    shown = {run.pk: run.schedule_id for run in runs if run.schedule_id}
    if not shown:
        return
    candidates = Run.objects.filter(Q(pk__in=shown) | Q(pk=OuterRef("last_run")), schedule=OuterRef("pk"))
    newest = candidates.order_by("-scheduled_for", "-pk").values("pk")[:1]
    Schedule.objects.filter(pk__in=set(shown.values())).update(last_run=Subquery(newest))


def show_before(runs: Iterable[Run]) -> None:
    """Show what was shown before runs that wait again: a card shows the newest occurrence that is not queued."""
    ran = Run.objects.filter(schedule=OuterRef("pk")).exclude(status=RunStatus.QUEUED)
    newest = ran.order_by("-scheduled_for", "-pk").values("pk")[:1]
    Schedule.objects.filter(last_run__in=[run.pk for run in runs]).update(last_run=Subquery(newest))
