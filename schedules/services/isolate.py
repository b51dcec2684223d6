"""Puts off a schedule that raised, so that all others fire; the tenth time it is refused and blocked (R21)."""

from __future__ import annotations

from datetime import datetime, timedelta

from chats.services.turns_settle import clean
from schedules import lifecycle
from schedules.domain.cadence import stored_cadence
from schedules.domain.misfire import Planned, plan_backlog
from schedules.domain.occurrences import next_occurrence
from schedules.domain.states import RunKind, RunStatus
from schedules.models import Run, Schedule
from schedules.services.rows import Plan, due_instant, never_run_row, spread_seconds

FIRST_WAIT = 30
LONGEST_WAIT = 300
MOST = 10


def isolate(*, schedule: Schedule, error: Exception, now: datetime) -> Plan:
    """Return the plan of a failed look: look again after 30 s, doubling to 5 min; then `refused: internal`."""
    failures = schedule.look_failures + 1
    detail = clean(f"{type(error).__name__}: {error}")
    plan = Plan(schedule)
    if failures >= MOST:
        return _given_up(plan, detail, now)
    wait = min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT)
    plan.columns = {
        "next_run_at": now + timedelta(seconds=wait),
        "look_failures": failures,
        "look_error": detail,
    }
    return plan


def _given_up(plan: Plan, detail: str, now: datetime) -> Plan:
    """Refuse the due occurrence, unless it has its row, and block; what fell due meanwhile was missed (R5)."""
    schedule = plan.schedule
    at = _first_due(schedule, now)
    if not Run.objects.filter(schedule=schedule, kind=RunKind.SCHEDULED, scheduled_for=at).exists():
        plan.add(
            lifecycle.opened(
                schedule, status=RunStatus.REFUSED, reason="internal", now=now, kind=RunKind.SCHEDULED,
                scheduled_for=at, due_at=at, error_text=detail,
                idempotency_key=f"sched:{schedule.public_id}:{at.isoformat()}",
            )
        )  # fmt: skip
        for window in _meanwhile(schedule, at, now):
            plan.add(
                never_run_row(
                    schedule=schedule,
                    planned=window,
                    status=RunStatus.MISSED,
                    reason="misfire",
                    spread=spread_seconds(schedule),
                    now=now,
                )
            )
    plan.block = ("internal", {})
    plan.columns = {"planned_through": max(now, schedule.planned_through), "look_error": detail}
    return plan


def _first_due(schedule: Schedule, now: datetime) -> datetime:
    """Return the occurrence that is due; where the rule is what cannot be asked, the instant that is known."""
    try:
        found = next_occurrence(
            stored_cadence(schedule.cadence), schedule.zone, schedule.planned_through, schedule.until
        )
    except Exception:  # noqa: BLE001 - this schedule has just raised; why is in its row
        found = None
    return found.at if found and found.at <= now else due_instant(schedule, now=now)


def _meanwhile(schedule: Schedule, at: datetime, now: datetime) -> list[Planned]:
    """Return what fell due after `at`; nothing when the rule is what cannot be asked."""
    try:
        cadence = stored_cadence(schedule.cadence)
        return plan_backlog(cadence, schedule.zone, at + timedelta.resolution, now)
    except Exception:  # noqa: BLE001 - this schedule has just raised; why is in its row
        return []
