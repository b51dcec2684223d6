"""Pause, resume, delete, skip next: the owner's switches. Off is always allowed (R19); on asks the gate (R14)."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.selectors.deletions import owner_free
from accounts.selectors.limits import limits_of
from accounts.services.idempotency import made_gone
from core.errors import Refusal
from schedules import lifecycle
from schedules.domain.states import OPEN
from schedules.models import Run, Schedule
from schedules.services.arming import schedule_arm, schedule_close_due, schedule_end_if_over, write_columns
from schedules.services.drafts import stored_timing
from schedules.services.guards import (
    ask_gate,
    ends_of,
    nothing_left,
    owner_locked,
    require_permission,
    require_room,
    schedule_locked,
)
from schedules.services.replacing import turns_hold
from schedules.services.rows import next_columns
from schedules.services.runs import run_keys_keep, run_stop


def schedule_pause(*, schedule: Schedule, now: datetime) -> Schedule:
    """Switch off; runs that never started are cancelled, a running one finishes. A second pause changes nothing."""
    with transaction.atomic():
        owner_locked(schedule.owner_id)
        turns_hold(schedule)
        row = schedule_locked(schedule.pk)
        if row.enabled:
            if row.is_on and schedule_close_due(row, now=now, reason="paused"):
                schedule_end_if_over(row, now=now)
            _raise_revision(row)
            lifecycle.pause(row, now=now)
            lifecycle.cancel_unstarted(row, reason="paused", now=now)
    return row


def schedule_resume(*, schedule: Schedule, now: datetime) -> Schedule:
    """Switch on, from now (C12): the block and both streaks are cleared, gate rows 3 to 13 are asked (R14).

    Raises Refusal: `permission_denied`, `by_operator`, `cadence_never_fires` when nothing is left to run,
    `schedule_limit` when a completed one would count again, or what the gate says.
    """
    with transaction.atomic():
        person = owner_free(schedule.owner_id)
        turns_hold(schedule)
        row = schedule_locked(schedule.pk)
        if row.is_on:
            return row
        require_permission(person)
        if row.blocked_reason == "by_operator":
            raise Refusal("by_operator")
        ask_gate(row, now=now)
        over = nothing_left(row, timing=stored_timing(row), ends=ends_of(row), now=now)
        if over is not None:
            raise Refusal.of([over])
        if row.completed_at is not None:
            require_room(person, limits_of(person), besides=row)
            lifecycle.reopen(row, now=now)
        _raise_revision(row)
        lifecycle.enable(row, now=now)
        schedule_arm(row, now=now)
        lifecycle.refresh_unstarted(row, now=now)
    return row


def schedule_delete(*, schedule: Schedule, now: datetime) -> bool:
    """Hide the schedule at once, cancel and stop its runs; return whether it is erased already (B77, R19).

    With a run still active it is erased when that has ended. Its create key answers `gone` for 24 h.
    """
    with transaction.atomic():
        owner = owner_locked(schedule.owner_id)
        turns_hold(schedule)
        row = schedule_locked(schedule.pk)
        lifecycle.mark_deleting(row, now=now)
        lifecycle.cancel_unstarted(row, reason="deleted", now=now)
        for run in Run.objects.filter(schedule=row, status__in=OPEN, settled_at=None).order_by("pk"):
            run_stop(run=run, actor=owner, now=now)
        active = Run.objects.filter(schedule=row, settled_at=None).exists()
        if not active:
            made_gone(made=[row.public_id], now=now)
            run_keys_keep(row, now=now)
            lifecycle.erase(row, now=now)
    return not active


def schedule_skip_next(*, schedule: Schedule, scheduled_for: datetime, now: datetime) -> Schedule:
    """Mark the next occurrence to be left out; it keeps its row when the time comes. A second time changes nothing.

    Raises Refusal `schedule_changed` when `scheduled_for` is not the next occurrence, or another one is marked.
    """
    with transaction.atomic():
        owner_free(schedule.owner_id)
        row = schedule_locked(schedule.pk)
        if row.skip_next_at == scheduled_for:
            return row
        marked = row.skip_next_at is not None and row.skip_next_at > row.planned_through  # it has no row yet
        if marked or not row.is_on or scheduled_for != row.next_occurrence_at:
            raise Refusal("schedule_changed", revision=row.revision)
        row.skip_next_at = scheduled_for
        write_columns(row, {"skip_next_at": scheduled_for})
        show_next(row)
    return row


def show_next(row: Schedule) -> None:
    """Show the next occurrence that will run after one was left out or put back; the clock's mark stays (C13)."""
    if row.is_on and row.next_run_at is not None:
        columns = next_columns(row, after=row.planned_through)
        write_columns(row, {"next_occurrence_at": columns["next_occurrence_at"]})


def _raise_revision(row: Schedule) -> None:
    """An edit by the owner raises the revision: older pages and older runs lose to it (R11)."""
    Schedule.objects.filter(pk=row.pk, revision=row.revision).update(revision=row.revision + 1)
    row.revision += 1
