"""Sets when a schedule is looked at next, and closes what was due before its rule or its switch changes."""

from __future__ import annotations

from datetime import datetime, timedelta

from schedules import lifecycle
from schedules.domain.cadence import stored_cadence
from schedules.domain.misfire import Planned, plan_backlog
from schedules.domain.occurrences import occurrences
from schedules.domain.states import RunStatus
from schedules.models import Schedule
from schedules.services.rows import never_run_row, next_columns, spread_seconds

_TICK = timedelta.resolution


def schedule_arm(schedule: Schedule, *, now: datetime) -> None:
    """Arm from `now` on (C12: nothing of the past is made up), or complete the schedule when nothing is left.

    The caller holds the row in a transaction. Extending a completed schedule reopens it. Raises CadenceError.
    """
    columns = next_columns(schedule, after=now)
    used_up = schedule.max_runs is not None and schedule.reached_count >= schedule.max_runs
    if columns["next_run_at"] is None or used_up:
        if schedule.completed_at is None and schedule.enabled:
            lifecycle.complete(schedule, now=now)
        return
    if schedule.completed_at is not None:
        lifecycle.reopen(schedule, now=now)
    if not schedule.is_on:
        columns |= {"next_run_at": None, "next_occurrence_at": None}
    write_columns(schedule, columns)


def write_columns(schedule: Schedule, columns: dict) -> None:
    """Store the arming columns and mirror them on the instance."""
    Schedule.objects.filter(pk=schedule.pk).update(**columns)
    for name, value in columns.items():
        setattr(schedule, name, value)


def schedule_close_due(schedule: Schedule, *, now: datetime, reason: str = "edited") -> int:
    """Give what was due and unopened its row before a pause, an end or an edit of the rule (C12); return how many.

    Within the grace the row is `cancelled` with `reason`, beyond it `missed`. The mark moves to `now`. A rule that
    cannot be read any more has nothing to close. The caller holds the row in a transaction.
    """
    if schedule.next_run_at is None or schedule.next_run_at > now:
        return 0
    spread = spread_seconds(schedule)
    line = now - timedelta(seconds=spread + schedule.misfire_grace_seconds)
    cadence = stored_cadence(schedule.cadence)
    end = now - timedelta(seconds=spread)
    end = min(end, schedule.until) if schedule.until else end
    old = plan_backlog(cadence, schedule.zone, schedule.planned_through + _TICK, min(line, end))
    recent = occurrences(cadence, schedule.zone, max(line, schedule.planned_through), end)
    rows = [
        never_run_row(schedule, window, status=RunStatus.MISSED, reason="misfire", spread=spread, now=now)
        for window in old
    ] + [
        never_run_row(
            schedule, Planned("run", None, found, found), status=RunStatus.CANCELLED, reason=reason, spread=spread,
            now=now,
        )
        for found in recent
    ]  # fmt: skip
    lifecycle.insert(rows)
    lifecycle.show_last(rows)
    write_columns(schedule, {"planned_through": now})
    return len(rows)
