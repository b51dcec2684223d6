"""Puts off a schedule that raised, so that all others fire; the tenth time it is refused and blocked (R21)."""

from __future__ import annotations

from datetime import datetime, timedelta

from chats.services.turns_settle import clean
from schedules import lifecycle
from schedules.domain.states import RunStatus
from schedules.models import Schedule
from schedules.services.rows import Plan

FIRST_WAIT = 30
LONGEST_WAIT = 300
MOST = 10


def isolate(schedule: Schedule, error: Exception, *, now: datetime) -> Plan:
    """Return the plan of a failed look: look again after 30 s, doubling to 5 min; then `refused: internal`."""
    failures = schedule.look_failures + 1
    detail = clean(f"{type(error).__name__}: {error}")
    plan = Plan(schedule)
    if failures >= MOST:
        at = schedule.next_occurrence_at or schedule.next_run_at or now
        plan.add(
            lifecycle.opened(
                schedule, status=RunStatus.REFUSED, reason="internal", now=now, kind="scheduled", scheduled_for=at,
                due_at=at, error_text=detail, idempotency_key=f"sched:{schedule.public_id}:{at.isoformat()}",
            )
        )  # fmt: skip
        plan.block = ("internal", {})
        plan.columns = {"planned_through": max(at, schedule.planned_through), "look_error": detail}
        return plan
    wait = min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT)
    plan.columns = {
        "next_run_at": now + timedelta(seconds=wait),
        "look_failures": failures,
        "look_error": detail,
    }
    return plan
