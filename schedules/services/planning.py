"""What one look does to one due schedule: lateness first, from the calendar alone; then the gate for what may run."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from schedules import lifecycle
from schedules.domain.cadence import CadenceError, stored_cadence, zone_of
from schedules.domain.gate import Decision, Facts, Moment, decide
from schedules.domain.misfire import Planned, Policy, plan_due
from schedules.domain.occurrences import Occurrence
from schedules.domain.occurrences_window import never_due
from schedules.domain.states import RunStatus
from schedules.models import Schedule
from schedules.selectors.facts import Shared, schedule_facts
from schedules.services.rows import (
    Plan,
    due_instant,
    left_out,
    never_run_row,
    new_turn,
    next_columns,
    run_columns,
    spread_seconds,
)


class Waits(Exception):
    """The gate says wait: nothing is written and what is due stays due."""


def plan_schedule(*, schedule: Schedule, shared: Shared, now: datetime) -> Plan:
    """Return the rows, turns and columns of one look at `schedule` at `now` (C9, C10, gate moment `fire`).

    Raises Waits when the global stop or a deletion came up meanwhile.
    """
    spread = spread_seconds(schedule)
    try:
        zone_of(schedule.zone)
        rows = _lateness(schedule, spread, now)
        if not rows:
            _refuse_never(schedule)
    except CadenceError as error:
        return _unreadable(schedule, Decision("refused", *error.reason(), blocks=True), now)
    look = Plan(schedule)
    for planned in rows:
        over = _used_up(schedule, look)
        if over or planned.verdict != "run":
            status = _never_ran(planned.verdict)
            look.add(
                never_run_row(
                    schedule=schedule,
                    planned=planned,
                    status=status,
                    reason=planned.reason or ("runs_used_up" if over else "misfire"),
                    spread=spread,
                    now=now,
                )
            )
            continue
        facts = schedule_facts(schedule, shared, unfinished=look.counted, serial=planned.serial)
        _open(look, planned, facts, spread=spread, now=now)
    _advance(look, rows[-1].last.at if rows else schedule.planned_through, now)
    return look


def _never_ran(verdict: str) -> RunStatus:
    """What was due beyond the last run that the schedule has gets its row too (C12)."""
    return {"run": RunStatus.CANCELLED, "missed": RunStatus.MISSED}.get(verdict, RunStatus.SKIPPED)


def _refuse_never(schedule: Schedule) -> None:
    """Raise CadenceError for a rule that owes nothing because it has no occurrence at all; a used up one completes."""
    if never_due(stored_cadence(schedule.cadence), schedule.zone, schedule.planned_through):
        raise CadenceError("cadence_never_fires", "cadence")


def _lateness(schedule: Schedule, spread: int, now: datetime) -> list[Planned]:
    dates, marked = left_out(schedule)
    return plan_due(
        stored_cadence(schedule.cadence),
        schedule.zone,
        schedule.planned_through,
        now=now,
        spread_seconds=spread,
        grace_seconds=schedule.misfire_grace_seconds,
        policy=cast(Policy, schedule.misfire_policy),
        skip_dates=dates,
        skip_next=marked,
        until=schedule.until,
    )


def _open(look: Plan, planned: Planned, facts: Facts, *, spread: int, now: datetime) -> None:
    """Ask the gate and open the occurrence's row with its verdict."""
    schedule = look.schedule
    decision = decide(facts, Moment.FIRE)
    if decision.verdict == "wait":
        raise Waits
    columns = {"late": planned.late, "project_id": facts.project_id}
    if decision.verdict in ("go", "replace"):
        look.replace = look.replace or decision.verdict == "replace"
        base = run_columns(schedule, planned.first, spread=spread)
        run = lifecycle.opened(schedule, now=now, **(base | columns))
        look.add(
            run,
            new_turn(
                schedule, owner_id=schedule.owner_id, agent=schedule.agent, run_at=planned.first.at,
                serial=planned.serial, now=now,
            ),
        )  # fmt: skip
        look.counted += 1
        if facts.project_id != schedule.project_id:
            look.columns["project_id"] = facts.project_id
        return
    if decision.blocks:
        look.block = (decision.reason, dict(decision.params))
    look.add(
        never_run_row(
            schedule=schedule, planned=planned, status=RunStatus(decision.verdict), reason=decision.reason,
            spread=spread, now=now,
            reason_params=dict(decision.params), late=planned.late,
        )
    )  # fmt: skip


def take_back(look: Plan) -> None:
    """After older runs were replaced: one that never reached a model gave its place in `max_runs` back."""
    schedule = look.schedule
    schedule.refresh_from_db(fields=["reached_count"])
    if look.columns.get("completed_at") and not _used_up(schedule, look):
        mark = look.columns["planned_through"]
        look.columns |= next_columns(schedule, after=mark)
        if look.columns["next_run_at"] is not None:
            look.columns["completed_at"] = None


def _used_up(schedule: Schedule, look: Plan) -> bool:
    return schedule.max_runs is not None and schedule.reached_count + look.counted >= schedule.max_runs


def _advance(look: Plan, mark: datetime, now: datetime) -> None:
    schedule = look.schedule
    columns = next_columns(schedule, after=mark)
    if columns["next_run_at"] is None or _used_up(schedule, look):
        columns |= {"next_run_at": None, "next_occurrence_at": None, "completed_at": now}
    look.columns = columns | look.columns


def _unreadable(schedule: Schedule, decision: Decision, now: datetime) -> Plan:
    """The rule or the zone cannot be read: one row for the occurrence that was to come, and a block (gate row 7, C7)."""
    look = Plan(schedule)
    at = due_instant(schedule, now=now)
    row = lifecycle.opened(
        schedule,
        status=RunStatus.REFUSED,
        reason=decision.reason,
        reason_params=dict(decision.params),
        now=now,
        **run_columns(schedule, Occurrence(at, at.replace(tzinfo=None), False), spread=0),
    )
    look.add(row)
    look.block = (decision.reason, dict(decision.params))
    look.columns = {
        "planned_through": max(at, schedule.planned_through),
        "next_run_at": None,
        "next_occurrence_at": None,
    }
    return look
