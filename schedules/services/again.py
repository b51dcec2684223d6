"""Runs a settled run once more as it was: its own text, agent and project, whatever its schedule says by now."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from accounts.selectors.deletions import owner_free
from chats.queue import hint_drain
from core.db import locked
from core.errors import Refusal
from core.ids import new_id
from schedules import lifecycle
from schedules.domain.gate import Moment, decide
from schedules.domain.states import UNFINISHED, Overlap, RunKind
from schedules.models import Run, Schedule
from schedules.selectors.facts import run_facts
from schedules.services.replacing import turns_hold
from schedules.services.rows import new_turn


def run_again(*, run: Run, actor: User, now: datetime) -> Run:
    """Open a manual run of the snapshot of a settled `run`, linked to it (`again_of`), and hint the cluster.

    Like a run by hand it neither moves nor counts for the schedule (R7). Raises Refusal: `already_running` while `run`
    itself or, unless the overlap rule allows it, another run of its schedule is unfinished; what the gate says (409),
    `stopped_by_operator` (503) or `account_deleting` (410). Nothing is written then.
    """
    with transaction.atomic():
        owner_free(run.owner_id)
        schedule = _held(run)
        _require_room(run, schedule)
        again = _snapshot(run, schedule, now)
        decision = decide(run_facts([again], spending=True, now=now)[again.pk], Moment.START)
        if decision.verdict != "go":
            raise Refusal(decision.reason, status=None if decision.verdict == "wait" else 409, **decision.params)
        turn = new_turn(schedule, owner_id=run.owner_id, agent=run.agent, run_at=now, serial=False, now=now)
        turn.save()
        again.turn = turn
        lifecycle.insert([again])
    hint_drain()
    return again


def _held(run: Run) -> Schedule | None:
    """Return the run's schedule, locked; None when it has none (a trial). Raises Refusal `not_found` on its way out."""
    if run.schedule is None:
        return None
    turns_hold(run.schedule)
    held = locked(Schedule.objects.filter(pk=run.schedule.pk, deleting_at=None)).first()
    if held is None:
        raise Refusal("not_found")
    return held


def _require_room(run: Run, schedule: Schedule | None) -> None:
    if run.settled_at is None:
        raise Refusal("already_running", run=run.public_id)
    if schedule is None or schedule.overlap_policy == Overlap.ALLOW:
        return
    busy = Run.objects.filter(schedule=schedule, settled_at__isnull=True, status__in=UNFINISHED).first()
    if busy is not None:
        raise Refusal("already_running", run=busy.public_id)


def _snapshot(run: Run, schedule: Schedule | None, now: datetime) -> Run:
    return lifecycle.opened(
        schedule,
        now=now,
        kind=RunKind.MANUAL,
        owner_id=run.owner_id,
        name=run.name,
        prompt=run.prompt,
        agent_id=run.agent_id,
        project_id=run.project_id,
        project_recorded=run.project_recorded,
        revision=run.revision,
        scheduled_for=now,
        due_at=now,
        again_of=run,
        idempotency_key=f"again:{run.public_id}:{new_id('key')}",
    )
