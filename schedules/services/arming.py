"""Sets when a schedule is looked at next, and closes what was due before its rule or its switch changes."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from schedules import lifecycle
from schedules.domain.cadence import CadenceError, stored_cadence
from schedules.domain.misfire import LATE_AFTER_SECONDS, Planned, plan_backlog
from schedules.domain.occurrences import Occurrence, occurrences
from schedules.domain.states import RunKind, RunStatus
from schedules.models import Run, Schedule
from schedules.services.rows import due_instant, left_out, never_run_row, next_columns, skipped, spread_seconds

MOST_CLOSED = 12_000  # a week's grace of a rule of every minute
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


def schedule_end_if_over(schedule: Schedule, *, now: datetime) -> None:
    """Complete a schedule whose last occurrence has just got its row, whatever the row says; the caller holds it."""
    with suppress(CadenceError):
        if next_columns(schedule, after=now)["next_run_at"] is None:
            lifecycle.complete(schedule, now=now)


def write_columns(schedule: Schedule, columns: dict) -> None:
    """Store the arming columns and mirror them on the instance."""
    Schedule.objects.filter(pk=schedule.pk).update(**columns)
    for name, value in columns.items():
        setattr(schedule, name, value)


def schedule_close_due(schedule: Schedule, *, now: datetime, reason: str = "edited") -> int:
    """Give what was due and unopened its row before a pause, an end or an edit of the rule (C12); return how many.

    Within the grace the row is `cancelled` with `reason`, beyond it `missed`; what the owner left out is `skipped`. The
    mark moves to `now`. The caller holds the row in a transaction.
    """
    if schedule.next_run_at is None or not _may_be_due(schedule, now):
        return 0
    try:
        rows = _rows_due(schedule, reason, now)
    except CadenceError:  # what cannot be asked any more owes the one instant that is known
        at = due_instant(schedule, now=now)
        found = Occurrence(at, at.replace(tzinfo=None), False)
        rows = [_closed(schedule, Planned("run", None, found, found), reason, now)]
    instants = [row.scheduled_for for row in rows]
    known = set(  # a mark that was put back too far has rows beyond it already (C15, a restored backup)
        Run.objects.filter(schedule=schedule, kind=RunKind.SCHEDULED, scheduled_for__in=instants).values_list(
            "scheduled_for", flat=True
        )
    )
    rows = [row for row in rows if row.scheduled_for not in known]
    lifecycle.insert(rows)
    lifecycle.show_last(rows)
    write_columns(schedule, {"planned_through": now})
    return len(rows)


def _rows_due(schedule: Schedule, reason: str, now: datetime) -> list[Run]:
    end = min(now, schedule.until) if schedule.until else now
    grace = timedelta(seconds=spread_seconds(schedule) + max(schedule.misfire_grace_seconds, LATE_AFTER_SECONDS))
    return [_closed(schedule, planned, reason, now) for planned in _unopened(schedule, now - grace, end)]


def _may_be_due(schedule: Schedule, now: datetime) -> bool:
    """Its nominal instant has come, though its share of the spread has not; or a failed look was put off (R21)."""
    nominal = (schedule.next_run_at or now) - timedelta(seconds=spread_seconds(schedule))
    return nominal <= now or schedule.look_failures > 0


def _unopened(schedule: Schedule, line: datetime, end: datetime) -> list[Planned]:
    """Return what has no row up to `end`: before `line` in windows, from there on one by one."""
    cadence, (dates, marked) = stored_cadence(schedule.cadence), left_out(schedule)
    after = schedule.planned_through
    old = plan_backlog(
        cadence, schedule.zone, after + _TICK, min(line - _TICK, end), skip_dates=dates, skip_next=marked
    )
    recent = occurrences(cadence, schedule.zone, max(line - _TICK, after), end, limit=MOST_CLOSED)
    return old + [Planned("run", skipped(schedule, found) or None, found, found) for found in recent]


def _closed(schedule: Schedule, planned: Planned, reason: str, now: datetime) -> Run:
    spread = spread_seconds(schedule)
    if planned.verdict == "missed":
        status, why = RunStatus.MISSED, "misfire"
    elif planned.reason:
        status, why = RunStatus.SKIPPED, planned.reason
    else:
        status, why = RunStatus.CANCELLED, reason
    return never_run_row(schedule=schedule, planned=planned, status=status, reason=why, spread=spread, now=now)
