"""Create and edit a schedule: one mutation each, with its permission, its policy and its place in the ledger.

Everything that needs no lock is read before the transaction; owner, projects and schedule are locked in that order.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.domain.limits import Limits
from accounts.models import User
from accounts.selectors.limits import limits_of
from accounts.services.idempotency import digest, fulfil, replay_find, replay_or_claim
from core.errors import FieldError, Refusal
from core.walltime import zone_data_version
from schedules import lifecycle
from schedules.domain.choices import DEFAULT_NOTIFY, DEFAULT_RETENTION
from schedules.models import Schedule
from schedules.services.arming import schedule_arm, schedule_close_due
from schedules.services.drafts import Draft, Timing, draft_read, stored_timing
from schedules.services.guards import (
    candidate_on,
    ends_of,
    gate_field,
    nothing_left,
    owner_locked,
    require_permission,
    require_room,
    schedule_locked,
)
from schedules.services.references import agent_decided, project_decided
from schedules.services.switching import (
    schedule_delete,
    schedule_pause,
    schedule_resume,
    schedule_skip_next,
    show_next,
)

__all__ = [
    "schedule_create",
    "schedule_delete",
    "schedule_edit",
    "schedule_pause",
    "schedule_resume",
    "schedule_skip_next",
]

CREATE_ACT = "schedule_create"
RESUME_ONLY = ("too_many_failures", "insufficient_balance", "goal_held", "by_operator")
"""Blocks that no edit lifts by itself (runs.md, Schedule state)."""

_PLAIN_COLUMNS = (
    "name", "prompt", "until", "max_runs", "skip_dates", "overlap_policy", "misfire_policy", "misfire_grace_seconds",
    "approval_ttl_seconds", "hold_on_approval", "deadline_seconds", "retry_window_seconds", "monthly_budget",
    "retention", "notify",
)  # fmt: skip


@dataclass
class _Plan:
    """What an edit will do to `row`, decided before anything is written."""

    row: Schedule
    columns: dict[str, Any] = field(default_factory=dict)
    rule_changed: bool = False
    enabled: bool = True
    lift: bool = False
    has_left: bool = True
    unblock: bool = False
    block: tuple[str, dict[str, Any]] | None = None

    @property
    def changes_nothing(self) -> bool:
        return not self.columns and not self.lift and self.enabled == self.row.enabled

    @property
    def only_disables(self) -> bool:
        """R19: switching off is always allowed to the owner."""
        return not self.columns and self.row.enabled and not self.enabled

    @property
    def leaves_on(self) -> bool:
        """Return whether it is on afterwards, as far as is known before the gate is asked about a block."""
        blocked = bool(self.row.blocked_reason) and not self.lift
        return self.enabled and self.has_left and not blocked

    @property
    def extends(self) -> bool:
        return self.row.completed_at is not None and (self.rule_changed or self.lift) and self.has_left


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
    draft = draft_read(body, owner_zone=owner.zone, floor_seconds=limits.min_interval_seconds, stored=None, now=now)
    with transaction.atomic():
        person = owner_locked(owner.pk)
        claimed = replay_or_claim(owner=person, act=CREATE_ACT, key=key, digest=sent, now=now) if key else None
        if claimed is not None:
            return _replayed(person, claimed.made), True
        require_permission(person)
        _require_feature(limits)
        require_room(person, limits)
        schedule = _built(person, draft, now)
        schedule.save(force_insert=True)
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
    draft = draft_read(body, owner_zone=owner.zone, floor_seconds=floor, stored=schedule, now=now)
    with transaction.atomic():
        person = owner_locked(owner.pk)
        row = schedule_locked(schedule.pk)
        if if_match is not None and row.revision != if_match:
            raise Refusal("schedule_changed", revision=row.revision)
        if row.revision != schedule.revision:
            draft = draft_read(body, owner_zone=person.zone, floor_seconds=floor, stored=row, now=now)
        plan = _planned(row, draft, person, now)
        if not plan.changes_nothing:
            _allow(plan, person)
            _ask_about(plan, now)
            _apply(plan, now=now)
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
        **_timing_columns(timing),
        **{name: values[name] for name in _PLAIN_COLUMNS if name in values},
    )
    if enabled:
        _ask_gate(schedule, now)
    return schedule


def _timing_columns(timing: Timing) -> dict[str, Any]:
    return {
        "cadence": timing.wire,
        "zone": timing.zone,
        "min_gap_seconds": timing.min_gap_seconds,
        "zone_data": zone_data_version(),
    }


def _timing_errors(timing: Timing | None, until: datetime | None, now: datetime) -> list[FieldError]:
    """Return why a rule that shall be on cannot be: its gap, or an end before its first occurrence."""
    if timing is None:
        return []
    errors = [timing.below_floor] if timing.below_floor else []
    if until is not None and timing.next_after(now, until) is None:
        errors.append(FieldError("until", "cadence_never_fires"))
    return errors


def _ask_gate(candidate: Schedule, now: datetime) -> None:
    refused = candidate_on(candidate, now=now)
    if refused is not None:
        raise gate_field(*refused)


def _planned(row: Schedule, draft: Draft, person: User, now: datetime) -> _Plan:
    """Decide the whole edit. Raises Refusal with every field that does not fit, then what the gate says."""
    values = draft.values
    plan = _Plan(row, columns=_changed_columns(row, draft))
    plan.enabled = values.get("enabled", row.enabled)
    plan.rule_changed = draft.timing is not None or bool({"until", "max_runs"} & plan.columns.keys())
    plan.lift = values.get("enabled") is True and (not row.enabled or bool(row.blocked_reason))
    errors = [*draft.errors]
    if plan.rule_changed or plan.lift:
        over = nothing_left(row, draft.timing or stored_timing(row), {**ends_of(row), **plan.columns}, now=now)
        plan.has_left = over is None
        errors += [over] if over is not None and plan.lift else []
    else:
        plan.has_left = row.completed_at is None
    agent, agent_errors = agent_decided(person, values.get("agent"), row)
    project_id, project_errors = project_decided(person, values, stored=row, strict=plan.leaves_on)
    errors += agent_errors + project_errors
    if plan.leaves_on and draft.timing is not None and draft.timing.below_floor is not None:
        errors.append(draft.timing.below_floor)
    if errors:
        raise Refusal.of(errors)
    if agent is not None and agent.pk != row.agent_id:
        plan.columns["agent_id"] = agent.pk
    # A pin that merely moved is written with the next real change (P4), and is none by itself.
    if project_id != row.project_id and (values.keys() & {"project"} or not plan.changes_nothing):
        plan.columns["project_id"] = project_id
    return plan


def _changed_columns(row: Schedule, draft: Draft) -> dict[str, Any]:
    """Return the columns whose value differs; a default that is stored as nothing is no change when it is named."""
    columns: dict[str, Any] = {}
    for name in _PLAIN_COLUMNS:
        if name in draft.values and draft.values[name] != _effective(row, name):
            columns[name] = draft.values[name]
    return columns | (_timing_columns(draft.timing) if draft.timing is not None else {})


def _effective(row: Schedule, name: str) -> Any:
    stored = getattr(row, name)
    if name == "retention":
        return stored or DEFAULT_RETENTION
    return stored or DEFAULT_NOTIFY if name == "notify" else stored


def _ask_about(plan: _Plan, now: datetime) -> None:
    """Ask the gate about the schedule as it would be on: refused when the edit leaves it on, else a block may go."""
    row = plan.row
    if plan.lift and row.blocked_reason == "by_operator":
        raise Refusal("by_operator")
    candidate = _candidate(plan)
    if plan.leaves_on:
        _ask_gate(candidate, now)
    elif row.blocked_reason and not plan.lift and row.blocked_reason not in RESUME_ONLY:
        refused = candidate_on(candidate, now=now)
        plan.unblock = refused is None or refused[0] != row.blocked_reason
        plan.block = refused if plan.unblock else None


def _candidate(plan: _Plan) -> Schedule:
    candidate = copy.copy(plan.row)
    for name, value in plan.columns.items():
        setattr(candidate, name, value)
    return candidate


def _allow(plan: _Plan, person: User) -> None:
    """Raise Refusal `permission_denied`, or `schedule_limit` when a completed schedule would count again."""
    if not plan.only_disables:
        require_permission(person)
    if plan.extends:
        require_room(person, limits_of(person), besides=plan.row)


def _apply(plan: _Plan, *, now: datetime) -> None:
    """Write the edit: what was due gets its row under the old rule first (C12), then columns, switch and arming."""
    row = plan.row
    rearm = plan.rule_changed or plan.lift or plan.unblock
    if row.is_on and (rearm or not plan.enabled):
        schedule_close_due(row, now=now)
    columns = {**plan.columns, "revision": row.revision + 1, "updated_at": now}
    Schedule.objects.filter(pk=row.pk, revision=row.revision).update(**columns)
    for name, value in columns.items():
        setattr(row, name, value)
    if row.enabled and not plan.enabled:
        lifecycle.pause(row, now=now)
        lifecycle.cancel_unstarted(row, reason="paused", now=now)
    elif plan.lift:
        lifecycle.enable(row, now=now)
    if plan.unblock:
        lifecycle.unblock(row, now=now)
    if plan.block is not None:
        lifecycle.block(row, reason=plan.block[0], params=plan.block[1], now=now)
    if plan.extends:
        lifecycle.reopen(row, now=now)
    if rearm and row.is_on:
        schedule_arm(row, now=now)
    elif "skip_dates" in plan.columns:
        show_next(row)
    lifecycle.refresh_unstarted(row, now=now)
