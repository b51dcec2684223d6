"""Turn what is due into runs: claim, plan, ask the gate, open, advance; one transaction per batch (R20)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import QuerySet

from accounts.selectors.deletions import not_deleting
from accounts.selectors.stops import global_stop
from agents.services.tombstones import agents_mend
from chats.models import Turn
from core.db import any_by, locked, update_many
from core.points import reached
from schedules import lifecycle
from schedules.models import Schedule
from schedules.selectors.facts import Shared, shared_for
from schedules.services.isolate import isolate
from schedules.services.known import pass_known
from schedules.services.planning import Waits, plan_schedule, take_back
from schedules.services.replacing import schedule_clear, schedules_busy
from schedules.services.rows import Plan
from schedules.services.skipping import skips_count
from schedules.services.telling import tell_blocked, tell_ended

logger = logging.getLogger(__name__)
BATCH = 200
AWAY = (OperationalError, InterfaceError)  # the database, not the schedule, is what failed
_MOVED = ("planned_through", "next_run_at", "next_occurrence_at", "completed_at")
MOST_AWAY = 3  # after so many in one batch it is the database; a single schedule must not hold up the rest


@dataclass(frozen=True)
class Fired:
    """`looked`: due schedules dealt with; `queued`: runs that wait for a worker now; `held`: everything is on hold."""

    looked: int
    queued: int
    held: bool = False


def fire_due(*, now: datetime, most: int = BATCH) -> Fired:
    """Open a run for every due occurrence of at most `most` schedules, oldest due first.

    Under the global stop nothing is written and what is due stays due (gate row 1), and so it does while the database
    cannot be read (R17). One schedule that raises is isolated: the batch is undone and each is fired alone (R21).
    """
    if not due_left(now=now):  # an idle clock locks nothing
        return Fired(0, 0)
    if global_stop() is not None:
        return Fired(0, 0, held=True)
    ids: list[int] = []
    try:
        with transaction.atomic():
            schedules = _claim(now, most)
            ids = [schedule.pk for schedule in schedules]
            fired = _fire(_with_agents(schedules, now), now)
            reached("firing", ids)
    except Exception:
        ids = ids or _due_ids(now, most)  # a row that cannot even be read fails the claim, and its neighbours with it
        logger.exception("firing %d schedules at once failed; each alone", len(ids))
        return _each_alone(ids, now)
    reached("fired", ids)
    return fired


def due_left(*, now: datetime) -> bool:
    """Return whether anything is due: one read of the index of what is armed, whatever else there is.

    Only when something is, whose it is: what is of people whose account is being deleted stays due.
    """
    armed = Schedule.objects.filter(next_run_at__lte=now)
    return any_by(armed, "next_run_at") and any_by(_all_due(now), "next_run_at")


def _all_due(now: datetime) -> QuerySet[Schedule]:
    """Return what is due of everybody whose account is not being deleted; the rest stays due (gate row 2)."""
    return Schedule.objects.filter(not_deleting(), next_run_at__lte=now)


def _claim(now: datetime, most: int) -> list[Schedule]:
    due = _all_due(now).order_by("next_run_at", "pk")
    return list(locked(due, skip_locked=True)[:most])


def _due_ids(now: datetime, most: int) -> list[int]:
    due = _all_due(now).order_by("next_run_at", "pk")
    return list(due.values_list("pk", flat=True)[:most])


def _with_agents(due: Iterable[Schedule], now: datetime) -> list[Schedule]:
    """Return the schedules with their agents, which are not joined: one whose agent's row is gone is due all the same.

    A schedule that the claim left out would stay due for ever, and its owner would never hear of it (R5, R21).
    """
    schedules = list(due)
    agents = agents_mend(ids={schedule.agent_id for schedule in schedules}, now=now)
    for schedule in schedules:
        schedule.agent = agents[schedule.agent_id]
    return schedules


def _fire(schedules: Sequence[Schedule], now: datetime) -> Fired:
    busy = schedules_busy(schedules)
    free = [schedule for schedule in schedules if schedule.pk not in busy]
    if not free:
        return Fired(0, 0)
    shared = shared_for(free, now=now)
    plans = [_planned(schedule, shared, now) for schedule in free]
    return Fired(len(free), _write([plan for plan in plans if plan is not None], now))


def _planned(schedule: Schedule, shared: Shared, now: datetime) -> Plan | None:
    try:
        return plan_schedule(schedule=schedule, shared=shared, now=now)
    except Waits:
        return None
    except Exception as error:
        logger.exception("schedule %s could not be planned", schedule.public_id)
        return isolate(schedule=schedule, error=error, now=now)


def _each_alone(ids: Sequence[int], now: datetime) -> Fired:
    moved = queued = away = 0
    for pk in ids:
        try:
            fired = _fire_alone(pk, now)
            moved, queued = moved + fired.looked, queued + fired.queued
        except AWAY:
            logger.warning("schedule %d stays due", pk, exc_info=True)
            away += 1
            if away == MOST_AWAY:
                break
    return Fired(moved, queued, held=moved == 0)


def _fire_alone(pk: int, now: datetime) -> Fired:
    try:
        with transaction.atomic():
            return _fire(_with_agents(locked(_due(pk, now)), now), now)
    except AWAY:
        raise
    except Exception as error:
        logger.exception("schedule %d could not be fired", pk)
        return Fired(int(_put_off(pk, error, now)), 0)


def _due(pk: int, now: datetime) -> QuerySet[Schedule]:
    return _all_due(now).filter(pk=pk)


def _put_off(pk: int, error: Exception, now: datetime) -> bool:
    """Move past rows that exist already, else isolate; whatever happens here, the others fire (R21).

    Return whether it is dealt with: what could not be put off stays due, and this tick asks no more for it.
    """
    try:
        with transaction.atomic():
            schedule = next(iter(_with_agents(locked(_due(pk, now)), now)), None)
            if schedule is None:
                return True
            known = pass_known(schedule, now=now) if isinstance(error, IntegrityError) else None
            _write([known or isolate(schedule=schedule, error=error, now=now)], now)
    except Exception:
        logger.exception("schedule %d could not be put off", pk)
        return False
    return True


def _write(plans: Sequence[Plan], now: datetime) -> int:
    for plan in plans:
        if plan.replace:
            schedule_clear(plan.schedule, now=now)
            take_back(plan)
    pairs = [pair for plan in plans for pair in zip(plan.runs, plan.turns, strict=True)]
    turns = Turn.objects.bulk_create([turn for _, turn in pairs if turn is not None])
    made = iter(turns)
    for run, turn in pairs:
        if turn is not None:
            run.turn = next(made)
    lifecycle.insert([run for run, _ in pairs])
    _advance(plans)
    for plan in plans:
        if plan.block and lifecycle.block(plan.schedule, reason=plan.block[0], params=plan.block[1], now=now):
            tell_blocked(plan.schedule, now=now)
    skips_count(plans, now=now)
    ended = [(plan.schedule, run) for plan in plans for run in plan.runs if run.settled_at is not None]
    lifecycle.show_last([run for _, run in ended])
    tell_ended(ended, now=now)
    return len(turns)


def _advance(plans: Sequence[Plan]) -> None:
    rows = [
        (*columns.values(), plan.schedule.reached_count + plan.counted, plan.schedule.pk)
        for plan in plans
        for columns in [_all_columns(plan)]
    ]
    update_many(Schedule, [*_MOVED, "look_failures", "look_error", "reached_count"], rows)
    for plan in plans:  # P9: only over the revision that this fire read, and never an owner's edit
        if "project_id" in plan.columns:
            Schedule.objects.filter(pk=plan.schedule.pk, revision=plan.schedule.revision).update(
                project_id=plan.columns["project_id"]
            )


def _all_columns(plan: Plan) -> dict[str, Any]:
    """Return what the tick writes of every schedule, in the order of its columns; the caller holds the rows."""
    fixed = {name: getattr(plan.schedule, name) for name in _MOVED} | {"look_failures": 0, "look_error": ""}
    return {name: plan.columns.get(name, value) for name, value in fixed.items()}
