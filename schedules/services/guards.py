"""What create, edit and switching ask before they write: locks, permission, room, the rule's end, the gate."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounts.domain.limits import Limits
from accounts.models import User
from accounts.selectors.permissions import may
from core.db import locked
from core.errors import FieldError, Refusal
from schedules.models import Schedule
from schedules.services.drafts import Timing
from schedules.services.gating import write_refusal

_FIELD_OF_REASON = {
    "cadence_invalid": "cadence",
    "cadence_below_floor": "cadence",
    "cadence_never_fires": "cadence",
    "cadence_too_complex": "cadence",
    "zone_unknown": "zone",
    "agent_deleted": "agent",
    "agent_forbidden": "agent",
    "agent_disabled": "agent",
    "model_unavailable": "agent",
    "project_required": "project",
    "project_deleted": "project",
    "conversation_gone": "target",
    "goal_held": "goal",
}


def owner_locked(owner_id: int) -> User:
    """Return the owner's row, locked: the cap and the idempotency key hold under concurrent creates.

    Raises Refusal `account_deleting` when the account was erased meanwhile.
    """
    person = locked(User.objects.filter(pk=owner_id)).first()
    if person is None:
        raise Refusal("account_deleting")
    return person


def budgets_count(person: User, schedule: Schedule) -> None:
    """Have the starts of `person`, whose row is locked, go one at a time from the first budget of a schedule on."""
    if schedule.monthly_budget is not None and not person.budgeted:
        User.objects.filter(pk=person.pk).update(budgeted=True)


def schedule_locked(schedule_id: int) -> Schedule:
    """Return the schedule's row, locked. Raises Refusal `not_found` when it is gone or being deleted."""
    row = locked(Schedule.objects.filter(pk=schedule_id, deleting_at=None)).first()
    if row is None:
        raise Refusal("not_found")
    return row


def require_permission(person: User) -> None:
    """Raise Refusal `permission_denied` unless `person` may create, edit and enable schedules."""
    if not may(person, "create_schedules"):
        raise Refusal("permission_denied")


def require_room(person: User, limits: Limits, *, besides: Schedule | None = None) -> None:
    """Raise Refusal `schedule_limit` when the cap is reached: paused and blocked ones count, completed ones do not."""
    counted = Schedule.objects.filter(owner=person, deleting_at=None, completed_at=None)
    if besides is not None:
        counted = counted.exclude(pk=besides.pk)
    used = counted.count()
    if used >= limits.max_schedules:
        raise Refusal("schedule_limit", used=used, most=limits.max_schedules)


def nothing_left(row: Schedule, *, timing: Timing, ends: Mapping[str, Any], now: datetime) -> FieldError | None:
    """Return the field because of which nothing runs after `now`, or None while something is left.

    `ends` holds `until` and `max_runs`; `reached_count` includes open runs until they settle without a model. About
    a rule that cannot be read the gate is asked (row 7).
    """
    if ends["max_runs"] is not None and row.reached_count >= ends["max_runs"]:
        return FieldError("max_runs", "cadence_never_fires")
    if timing.cadence is None:
        return None
    if timing.next_after(now) is None:
        return FieldError(f"cadence.{timing.cadence.main_field}", "cadence_never_fires")
    if timing.next_after(now, ends["until"]) is None:
        return FieldError("until", "cadence_never_fires")
    return None


def ends_of(row: Schedule) -> dict[str, Any]:
    """Return what may end the rule of `row`."""
    return {"until": row.until, "max_runs": row.max_runs}


def candidate_on(schedule: Schedule, *, now: datetime) -> tuple[str, dict[str, Any]] | None:
    """Ask the gate (rows 3 to 13) about `schedule` as if it were on; return its reason with parameters, or None."""
    candidate = copy.copy(schedule)
    candidate.enabled, candidate.blocked_reason, candidate.completed_at = True, "", None
    return write_refusal(candidate, now=now)


def ask_gate(candidate: Schedule, *, now: datetime) -> None:
    """Raise what the gate says against `candidate` being on, at the field that mends it where there is one (R18)."""
    refused = candidate_on(candidate, now=now)
    if refused is not None:
        raise gate_field(*refused)


def gate_field(reason: str, params: Mapping[str, Any]) -> Refusal:
    """Return what the gate refused, at the field that mends it where there is one."""
    path = _FIELD_OF_REASON.get(reason)
    return Refusal.at(path, reason, **params) if path else Refusal(reason, **params)
