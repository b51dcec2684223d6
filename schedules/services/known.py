"""What a mark that stands too early would open again: occurrences that have their row (R1, C14, C15)."""

from __future__ import annotations

from datetime import datetime, timedelta

from schedules.domain.cadence import stored_cadence
from schedules.domain.misfire import plan_backlog
from schedules.domain.states import RunKind, RunStatus
from schedules.models import Run, Schedule
from schedules.services.rows import Plan, left_out, never_run_row, next_columns, spread_seconds

_TICK = timedelta.resolution


def pass_known(schedule: Schedule, *, now: datetime) -> Plan | None:
    """Return the plan that moves the mark past the first row at or after it, or None when no due one has a row.

    What lies before that row and has none itself was passed over for it. A mark stands too early after a clock was
    put right, or a backup restored. Raises CadenceError.
    """
    row = (
        Run.objects.filter(
            schedule=schedule,
            kind=RunKind.SCHEDULED,
            scheduled_for__gt=schedule.planned_through,
            scheduled_for__lte=now,
        )
        .order_by("scheduled_for")
        .first()
    )
    if row is None:
        return None
    look, spread = Plan(schedule), spread_seconds(schedule)
    dates, marked = left_out(schedule)
    for planned in plan_backlog(
        stored_cadence(schedule.cadence), schedule.zone, schedule.planned_through + _TICK, row.scheduled_for - _TICK,
        reason="passed_over", skip_dates=dates, skip_next=marked,
    ):  # fmt: skip
        status = RunStatus.MISSED if planned.verdict == "missed" else RunStatus.SKIPPED
        reason = planned.reason or "passed_over"
        look.add(
            never_run_row(schedule=schedule, planned=planned, status=status, reason=reason, spread=spread, now=now)
        )
    look.columns = next_columns(schedule, after=row.missed_until or row.scheduled_for)
    if look.columns["next_run_at"] is None:
        look.columns["completed_at"] = now
    return look
