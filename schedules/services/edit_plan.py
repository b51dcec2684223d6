"""What an edit will do, decided whole before anything is written; then its one write."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from accounts.models import User
from accounts.selectors.limits import limits_of
from core.errors import Refusal
from core.walltime import zone_data_version
from schedules import lifecycle
from schedules.domain.choices import DEFAULT_NOTIFY, DEFAULT_RETENTION
from schedules.models import Schedule
from schedules.services.arming import schedule_arm, schedule_close_due
from schedules.services.drafts import Draft, Timing, stored_timing
from schedules.services.guards import (
    ask_gate,
    candidate_on,
    ends_of,
    nothing_left,
    require_permission,
    require_room,
)
from schedules.services.references import agent_decided, project_decided
from schedules.services.switching import show_next
from schedules.services.telling import tell_blocked

RESUME_ONLY = ("too_many_failures", "insufficient_balance", "goal_held", "by_operator")
"""Blocks that no edit lifts by itself (runs.md, Schedule state)."""

PLAIN_COLUMNS = (
    "name", "prompt", "until", "max_runs", "skip_dates", "overlap_policy", "misfire_policy", "misfire_grace_seconds",
    "approval_ttl_seconds", "hold_on_approval", "deadline_seconds", "retry_window_seconds", "monthly_budget",
    "retention", "notify",
)  # fmt: skip


@dataclass
class EditPlan:
    """What an edit will do to `row`.

    `lift`: an explicit `enabled: true` on what is off or blocked. `has_left`: the rule yields something more.
    `unblock` and `block`: a block goes because the gate gives its reason no longer, another one may take its place.
    """

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


def edit_decide(row: Schedule, *, draft: Draft, person: User, now: datetime) -> EditPlan:
    """Return what `draft` changes about the locked `row`. Raises Refusal with every field that does not fit."""
    values, errors = draft.values, [*draft.errors]
    plan = EditPlan(row, columns=_changed_columns(row, draft), enabled=draft.values.get("enabled", row.enabled))
    plan.rule_changed = draft.timing is not None or bool({"until", "max_runs"} & plan.columns.keys())
    plan.lift = values.get("enabled") is True and (not row.enabled or bool(row.blocked_reason))
    if plan.rule_changed or plan.lift:
        timing, ends = draft.timing or stored_timing(row), {**ends_of(row), **plan.columns}
        over = nothing_left(row, timing=timing, ends=ends, now=now)
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
    if project_id != row.project_id and ("project" in values or not plan.changes_nothing):
        plan.columns["project_id"] = project_id
    return plan


def edit_allow(plan: EditPlan, *, person: User, now: datetime) -> None:
    """Ask whether `person` may do it, and the gate about the schedule as it would be on.

    What leaves it on is refused with the gate's reason (R18); a block goes when the gate gives its reason no longer.
    Raises Refusal: `permission_denied`, `schedule_limit` when a completed one would count again, `by_operator`, or
    the gate's reason at its field.
    """
    row = plan.row
    if not plan.only_disables:
        require_permission(person)
    if plan.extends:
        require_room(person, limits_of(person), besides=row)
    if plan.lift and row.blocked_reason == "by_operator":
        raise Refusal("by_operator")
    candidate = copy.copy(row)
    for name, value in plan.columns.items():
        setattr(candidate, name, value)
    if plan.leaves_on:
        ask_gate(candidate, now=now)
    elif row.blocked_reason and not plan.lift and row.blocked_reason not in RESUME_ONLY:
        refused = candidate_on(candidate, now=now)
        plan.unblock = refused is None or refused[0] != row.blocked_reason
        plan.block = refused if plan.unblock else None


def edit_apply(plan: EditPlan, *, now: datetime) -> None:
    """Write the edit: what was due gets its row under the old rule first (C12), then columns, switch and arming."""
    row = plan.row
    rearm = plan.rule_changed or plan.lift or plan.unblock
    if row.is_on and (rearm or not plan.enabled):
        schedule_close_due(row, now=now, reason="edited" if plan.enabled else "paused")
    columns = {**plan.columns, "revision": row.revision + 1, "updated_at": now}
    Schedule.objects.filter(pk=row.pk, revision=row.revision).update(**columns)
    for name, value in columns.items():
        setattr(row, name, value)
    _switch(plan, now)
    if rearm and row.is_on:
        schedule_arm(row, now=now)
    elif "skip_dates" in plan.columns:
        show_next(row)
    lifecycle.refresh_unstarted(row, now=now)


def _switch(plan: EditPlan, now: datetime) -> None:
    row = plan.row
    if row.enabled and not plan.enabled:
        lifecycle.pause(row, now=now)
        lifecycle.cancel_unstarted(row, reason="paused", now=now)
    elif plan.lift:
        lifecycle.enable(row, now=now)
    if plan.unblock:
        lifecycle.unblock(row, now=now)
    if plan.block is not None and lifecycle.block(row, reason=plan.block[0], params=plan.block[1], now=now):
        tell_blocked(row, now=now)
    if plan.extends:
        lifecycle.reopen(row, now=now)


def timing_columns(timing: Timing) -> dict[str, Any]:
    """Return the columns of a rule, with the version of the zone data that its gap was worked out by (C6)."""
    return {
        "cadence": timing.wire,
        "zone": timing.zone,
        "min_gap_seconds": timing.min_gap_seconds,
        "zone_data": zone_data_version(),
    }


def _changed_columns(row: Schedule, draft: Draft) -> dict[str, Any]:
    """Return the columns whose value differs; a default that is stored as nothing is no change when it is named."""
    stored = {name: getattr(row, name) for name in PLAIN_COLUMNS}
    stored["retention"] = stored["retention"] or DEFAULT_RETENTION
    stored["notify"] = stored["notify"] or DEFAULT_NOTIFY
    values = draft.values
    columns = {name: values[name] for name in PLAIN_COLUMNS if name in values and values[name] != stored[name]}
    return columns | (timing_columns(draft.timing) if draft.timing is not None else {})
