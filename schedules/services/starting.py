"""What is asked of a run at its start before the gate: lateness after a wait, its retry's time, and who runs beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max

from accounts.selectors.deletions import deletion_waits
from accounts.selectors.stops import Wait, last_wait
from chats.domain.states import TurnStatus
from chats.models import Turn
from core.registry import StartRefused, StartWait
from schedules.domain.misfire import LATE_AFTER_SECONDS
from schedules.domain.states import Misfire, RunKind, RunStatus
from schedules.models import Run

BESIDE_SECONDS = 1.0


@dataclass(frozen=True)
class StartMoment:
    """What starts at one instant have in common: when waits ended (everybody's; by owner those of deletions that were
    called off), what runs, and the newest occurrence by schedule."""

    now: datetime
    wait: Wait | None
    deletions: dict[int, list[Wait]]
    running: dict[int, set[int]]
    newest: dict[int, datetime]


def start_moment(runs: Sequence[Run], *, now: datetime) -> StartMoment:
    """Read it, in four queries at most however many runs start."""
    ids = {run.schedule_id for run in runs if run.schedule_id is not None}
    running: dict[int, set[int]] = {}
    beside = Run.objects.filter(schedule__in=ids, status=RunStatus.RUNNING, settled_at__isnull=True)
    for schedule_id, run_id in beside.values_list("schedule_id", "pk"):
        running.setdefault(schedule_id or 0, set()).add(run_id)
    retried = {run.schedule_id for run in runs if run.started_at is not None}
    scheduled = Run.objects.filter(schedule__in=retried, kind=RunKind.SCHEDULED)
    newest = dict(scheduled.values_list("schedule_id").annotate(newest=Max("scheduled_for"))) if retried else {}
    deletions = deletion_waits({run.owner_id for run in runs})
    return StartMoment(now=now, wait=last_wait(), deletions=deletions, running=running, newest=newest)


def before_gate(turn: Turn, run: Run, moment: StartMoment) -> StartRefused | StartWait | None:
    """Return why the run does not start now, or None: the gate is asked."""
    if _late_after_wait(turn, run, moment):
        return StartRefused(TurnStatus.CANCELLED, "misfire", {})
    if _too_late_to_retry(turn, run, moment):
        return StartRefused(TurnStatus.FAILED, turn.error_code, turn.error_params)
    if turn.series and moment.running.get(run.schedule_id or 0, set()) - {run.pk}:
        # One that was started under `allow` is not in the series; since an edit it is waited for like any other.
        return StartWait(BESIDE_SECONDS)
    return None


def _late_after_wait(turn: Turn, run: Run, moment: StartMoment) -> bool:
    """R38: what was queued when a wait ended is asked how late that made it; capacity before and after is no lateness."""
    schedule, waits = run.schedule, [*([moment.wait] if moment.wait else []), *moment.deletions.get(run.owner_id, ())]
    if not waits or schedule is None or run.kind != RunKind.SCHEDULED or run.started_at is not None:
        return False
    if schedule.misfire_policy != Misfire.MISS:
        return False
    grace = timedelta(seconds=max(schedule.misfire_grace_seconds, LATE_AFTER_SECONDS))
    return any(
        turn.queued_at < wait.lifted and wait.lifted > max(run.due_at, wait.began or run.due_at) + grace
        for wait in waits
    )


def _too_late_to_retry(turn: Turn, run: Run, moment: StartMoment) -> bool:
    """No retry starts outside its window, or once the next occurrence is due; a lost worker's turn is no retry."""
    if not turn.attempts_made or turn.error_code in ("", "worker_lost") or turn.first_dispatched_at is None:
        return False
    if moment.now > turn.first_dispatched_at + timedelta(seconds=turn.retry_window_seconds):
        return True
    schedule = run.schedule
    if schedule is None or run.kind != RunKind.SCHEDULED:
        return False
    due = schedule.next_run_at is not None and schedule.next_run_at <= moment.now
    return due or moment.newest.get(schedule.pk, run.scheduled_for) > run.scheduled_for
