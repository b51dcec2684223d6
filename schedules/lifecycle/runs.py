"""The only writer of `Run.status`. Each move is one conditional update naming the states it may come from (R2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from chats.models import Turn
from chats.services.turns_stop import turn_cancel, turn_give_up, turn_stop
from core.db import Lost, update_many
from projects.domain.destination import resolve_destination
from projects.selectors import policies_for
from schedules.domain.deadline import deadline_seconds
from schedules.domain.misfire import LATE_AFTER_SECONDS
from schedules.domain.states import MOVES, NEVER_RAN, RunKind, RunStatus
from schedules.models import Run, Schedule

_TOTALS = ["attempts", "input_tokens", "output_tokens", "cost", "error_text", "duration_seconds"]


def from_states(status: str) -> list[str]:
    """Return the states that may move to `status`."""
    return [state for state, targets in MOVES.items() if status in targets]


def opened(
    schedule: Schedule | None, *, status: str = RunStatus.QUEUED, reason: str = "", now: datetime, **columns: Any
) -> Run:
    """Return an unsaved ledger row: the snapshot of the schedule as it is, and `settled_at` when it never runs."""
    if status != RunStatus.QUEUED and status not in NEVER_RAN:
        raise ValueError(f"a run is not opened as {status}")
    snapshot: dict[str, Any] = {}
    if schedule is not None:
        snapshot = {
            "schedule": schedule,
            "owner_id": schedule.owner_id,
            "name": schedule.name,
            "prompt": schedule.prompt,
            "agent_id": schedule.agent_id,
            "revision": schedule.revision,
            "overlap_policy": schedule.overlap_policy,
            "project_id": schedule.project_id,
        }
    settled = None if status == RunStatus.QUEUED else now
    return Run(status=status, reason=reason, opened_at=now, settled_at=settled, **(snapshot | columns))


def insert(runs: list[Run]) -> None:
    """Store opened runs; a row that exists already raises IntegrityError and undoes the caller's transaction (R1)."""
    Run.objects.bulk_create(runs)


def start(runs: Iterable[Run], *, conversations: dict[int, int], now: datetime) -> None:
    """Move runs to running as their turns start; `conversations` by run id.

    The first start's instant stays, and says whether the run is late (over 30 s after `due_at`).
    """
    allowed = from_states(RunStatus.RUNNING)
    update_many(
        Run,
        ["status", "started_at", "late", "conversation"],
        [(RunStatus.RUNNING, run.started_at or now, _late(run, now), conversations[run.pk], run.pk) for run in runs],
        where_in=("status", allowed),
    )


def _late(run: Run, now: datetime) -> bool:
    return run.late or (run.started_at is None and now - run.due_at > timedelta(seconds=LATE_AFTER_SECONDS))


def requeue(run_ids: Iterable[int], *, now: datetime) -> None:
    """Move running runs back to queued: their turn waits for its next try."""
    Run.objects.filter(pk__in=list(run_ids), status__in=from_states(RunStatus.QUEUED)).update(status=RunStatus.QUEUED)


def settle_many(moves: Sequence[tuple[Run, str, str, dict[str, Any], Turn]], *, now: datetime) -> list[Run]:
    """Move runs to a terminal status with the totals of their turns; each move is (run, status, reason, params, turn).

    Return those that moved, with status and reason as written: a run that had settled before stays as it was (R2).
    """
    open_moves = [move for move in moves if move[0].status in from_states(move[1])]
    rows = []
    for run, status, reason, params, turn in open_moves:
        duration = (now - run.started_at).total_seconds() if run.started_at else None
        totals = (turn.attempts_made, turn.input_tokens, turn.output_tokens, turn.cost, turn.error_text, duration)
        rows.append((status, reason, params, now, *totals, run.pk, run.status))
    columns = ["status", "reason", "reason_params", "settled_at", *_TOTALS]
    if update_many(Run, columns, rows, keys=["pk", "status"]) != len(rows):
        raise Lost
    for run, status, reason, params, turn in open_moves:
        run.attempts, run.cost = turn.attempts_made, turn.cost
        run.status, run.reason, run.reason_params, run.settled_at = status, reason, params, now
    return [move[0] for move in open_moves]


def refresh_unstarted(schedule: Schedule, *, now: datetime) -> int:
    """Give queued runs that never started the schedule's new text, agent, project, deadline and revision (Edit)."""
    waiting = Run.objects.filter(
        schedule=schedule, status=RunStatus.QUEUED, settled_at__isnull=True, started_at__isnull=True
    ).filter(again_of__isnull=True)  # a run that repeats another keeps that one's snapshot
    turns = list(waiting.values_list("turn_id", flat=True))
    policy = policies_for([schedule.owner_id])[schedule.owner_id]
    changed = waiting.update(
        name=schedule.name,
        prompt=schedule.prompt,
        agent_id=schedule.agent_id,
        project_id=resolve_destination(schedule.project_id, policy).project_id,
        revision=schedule.revision,
    )
    # Also turns that are leased and have not started: the caller holds their rows, and their start reads them anew.
    Turn.objects.filter(pk__in=turns, started_at__isnull=True).update(
        agent_id=schedule.agent_id,
        retry_window_seconds=schedule.retry_window_seconds,
        deadline_seconds=deadline_seconds(
            own=schedule.deadline_seconds,
            agents=schedule.agent.deadline_seconds,
            default=settings.DEFAULT_DEADLINE_SECONDS,
            most=settings.MAX_DEADLINE_SECONDS,
        ),
    )
    return changed


def cancel_unstarted(schedule: Schedule, *, reason: str, now: datetime) -> int:
    """Cancel queued runs that never started, with their turns; return how many. `reason`: paused, deleted, ..."""
    waiting = Run.objects.filter(
        schedule=schedule, status=RunStatus.QUEUED, settled_at__isnull=True, started_at__isnull=True
    )
    turns = [turn_id for turn_id in waiting.values_list("turn_id", flat=True) if turn_id is not None]
    return sum(_cancel(turn_id, reason, now) for turn_id in turns)


def _cancel(turn_id: int, reason: str, now: datetime) -> bool:
    """Cancel a queued turn; one that a worker has just leased is asked to stop, and its start then cancels it."""
    return turn_cancel(turn_id=turn_id, reason=reason, now=now) or turn_stop(turn_id=turn_id, reason=reason, now=now)


def end_retries(schedule: Schedule, *, now: datetime) -> int:
    """Settle runs in their retry wait with the error of their last attempt; return how many."""
    waiting = Run.objects.filter(schedule=schedule, status=RunStatus.QUEUED, started_at__isnull=False)
    turns = [turn_id for turn_id in waiting.values_list("turn_id", flat=True) if turn_id is not None]
    return sum(turn_give_up(turn_id=turn_id, now=now) for turn_id in turns)


def withdraw(schedule: Schedule, *, now: datetime) -> int:
    """Remove rows of occurrences after `now` that never ran, written while a clock stood ahead (C15); return how many.

    The card shows the newest row that is left.
    """
    early = Run.objects.filter(schedule=schedule, kind=RunKind.SCHEDULED, status__in=NEVER_RAN, scheduled_for__gt=now)
    ids = list(early.values_list("pk", flat=True))
    if not ids:
        return 0
    Schedule.objects.filter(pk=schedule.pk, last_run__in=ids).update(last_run=None)
    early.delete()
    left = Run.objects.filter(schedule=schedule).exclude(status=RunStatus.QUEUED).order_by("-scheduled_for", "-pk")
    Schedule.objects.filter(pk=schedule.pk, last_run=None).update(last_run=left.first())
    return len(ids)
