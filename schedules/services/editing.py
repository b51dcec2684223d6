"""Create and edit a schedule: one mutation each, with its permission, its policy and its place in the ledger.

What needs no lock is read before the transaction. Locks are taken in one order: owner, conversations and turns that
have not ended, schedule, projects.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.domain.limits import Limits
from accounts.models import User
from accounts.selectors.deletions import refuse_deleting
from accounts.selectors.limits import limits_of
from accounts.services.idempotency import digest, fulfil, replay_find, replay_or_claim
from core.errors import FieldError, Refusal
from schedules.models import Schedule
from schedules.services.arming import schedule_arm
from schedules.services.drafts import Draft, Timing, draft_read
from schedules.services.edit_plan import PLAIN_COLUMNS, edit_allow, edit_apply, edit_decide, timing_columns
from schedules.services.guards import (
    ask_gate,
    budgets_count,
    owner_locked,
    require_permission,
    require_room,
    schedule_locked,
)
from schedules.services.references import agent_decided, project_decided
from schedules.services.replacing import turns_hold
from schedules.services.switching import schedule_delete, schedule_pause, schedule_resume, schedule_skip_next

__all__ = [
    "schedule_create",
    "schedule_delete",
    "schedule_edit",
    "schedule_pause",
    "schedule_resume",
    "schedule_skip_next",
]

CREATE_ACT = "schedule_create"


def schedule_create(
    *, owner: User, body: Mapping[str, Any], now: datetime, key: str | None = None
) -> tuple[Schedule, bool]:
    """Create a schedule of `owner` from a wire body; return it and whether an earlier create was replayed (P7).

    Raises Refusal: `permission_denied`, `feature_disabled`, `schedule_limit`, every refused field at once, what the
    gate says (R18), `idempotency_conflict` or `gone` for a key that was used.
    """
    sent = digest(body)
    earlier = replay_find(owner=owner, act=CREATE_ACT, key=key, digest=sent) if key else None
    if earlier is not None:
        return _replayed(owner, earlier.made), True
    limits = limits_of(owner)
    draft = draft_read(body, owner=owner, floor_seconds=limits.min_interval_seconds, stored=None, now=now)
    with transaction.atomic():
        person = owner_locked(owner.pk)
        claimed = replay_or_claim(owner=person, act=CREATE_ACT, key=key, digest=sent, now=now) if key else None
        if claimed is not None:
            return _replayed(person, claimed.made), True
        refuse_deleting(person.pk)
        require_permission(person)
        _require_feature(limits)
        require_room(person, limits)
        schedule = _built(person, draft, now)
        schedule.save(force_insert=True)
        budgets_count(person, schedule)
        if schedule.enabled:
            schedule_arm(schedule, now=now)
        if key:
            fulfil(owner=person, act=CREATE_ACT, key=key, made=schedule.public_id)
    return schedule, False


def schedule_edit(
    *, schedule: Schedule, body: Mapping[str, Any], now: datetime, if_match: int | None = None
) -> Schedule:
    """Apply a partial wire body; return the schedule as it is afterwards. An edit that changes nothing writes nothing.

    Raises Refusal: `schedule_changed` when `if_match` is not the revision, `not_found` when it was deleted,
    `permission_denied`, every refused field at once, and what the gate says when the edit leaves it on (R18, R19).
    """
    owner = schedule.owner
    floor = limits_of(owner).min_interval_seconds
    draft = draft_read(body, owner=owner, floor_seconds=floor, stored=schedule, now=now)
    with transaction.atomic():
        person = owner_locked(owner.pk)
        turns_hold(schedule)
        row = schedule_locked(schedule.pk)
        if if_match is not None and row.revision != if_match:
            raise Refusal("schedule_changed", revision=row.revision)
        if row.revision != schedule.revision:
            draft = draft_read(body, owner=person, floor_seconds=floor, stored=row, now=now)
        plan = edit_decide(row, draft=draft, person=person, now=now)
        if not plan.changes_nothing:
            if not plan.only_disables:  # R19
                refuse_deleting(person.pk)
            edit_allow(plan, person=person, now=now)
            edit_apply(plan, now=now)
            budgets_count(person, row)
    return row


def _replayed(owner: User, public_id: str) -> Schedule:
    """Return what the first request made, whatever became of policy and caps. Raises Refusal `gone`."""
    found = Schedule.objects.filter(owner=owner, public_id=public_id, deleting_at=None).first()
    if found is None:
        raise Refusal("gone")
    return found


def _require_feature(limits: Limits) -> None:
    if not limits.enabled:
        raise Refusal("feature_disabled")


def _built(person: User, draft: Draft, now: datetime) -> Schedule:
    """Return the unsaved schedule. Raises Refusal with every field that does not fit, then what the gate says."""
    values, timing = draft.values, draft.timing
    errors = [*draft.errors, *_timing_errors(timing, values.get("until"), now)]
    agent, agent_errors = agent_decided(person, values.get("agent"), None)
    project_id, project_errors = project_decided(person, values, stored=None, strict=True)
    errors += agent_errors + project_errors
    if errors or agent is None or timing is None:
        raise Refusal.of(errors)
    enabled = values.get("enabled", True)
    schedule = Schedule(
        owner=person,
        agent=agent,
        project_id=project_id,
        enabled=enabled,
        paused_at=None if enabled else now,
        created_at=now,
        updated_at=now,
        planned_through=now,
        **timing_columns(timing),
        **{name: values[name] for name in PLAIN_COLUMNS if name in values},
    )
    if enabled:
        ask_gate(schedule, now=now)
    return schedule


def _timing_errors(timing: Timing | None, until: datetime | None, now: datetime) -> list[FieldError]:
    """Return why a rule that shall be on cannot be: its gap, or an end before its first occurrence."""
    if timing is None:
        return []
    errors = [timing.below_floor] if timing.below_floor else []
    if until is not None and timing.next_after(now, until) is None:
        errors.append(FieldError("until", "cadence_never_fires"))
    return errors
