"""Builds ledger rows and their turns from what is due; nothing is written here."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings

from agents.models import Agent
from chats.models import Turn
from schedules import lifecycle
from schedules.domain.cadence import stored_cadence
from schedules.domain.deadline import deadline_seconds
from schedules.domain.misfire import Planned, spread_of
from schedules.domain.occurrences import Occurrence, next_occurrence
from schedules.domain.occurrences_window import next_to_run
from schedules.domain.states import Overlap, RunStatus
from schedules.models import Run, Schedule


@dataclass
class Plan:
    """What one look does to one schedule. `runs` and `turns` go together; `turns` holds None for rows that never run."""

    schedule: Schedule
    runs: list[Run] = field(default_factory=list)
    turns: list[Turn | None] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    block: tuple[str, dict[str, Any]] | None = None
    replace: bool = False
    counted: int = 0

    def add(self, run: Run, turn: Turn | None = None) -> None:
        self.runs.append(run)
        self.turns.append(turn)


def spread_seconds(schedule: Schedule) -> int:
    """Return the schedule's own share of the spread (C8), stable over its life."""
    kind = schedule.cadence.get("kind", "") if isinstance(schedule.cadence, dict) else ""
    return spread_of(schedule.public_id, settings.SCHEDULE_SPREAD_SECONDS, kind)


def skipped(schedule: Schedule, occurrence: Occurrence) -> str:
    """Return `skip_date` or `skip_next` when the owner left this occurrence out, else nothing."""
    if occurrence.local.date().isoformat() in schedule.skip_dates:
        return "skip_date"
    return "skip_next" if schedule.skip_next_at == occurrence.at else ""


def left_out(schedule: Schedule) -> tuple[frozenset[date], datetime | None]:
    """Return the local dates and the one instant that the owner left out, as the domain takes them."""
    return frozenset(date.fromisoformat(day) for day in schedule.skip_dates), schedule.skip_next_at


def due_instant(schedule: Schedule, *, now: datetime) -> datetime:
    """Return the due occurrence as the row knows it, for a schedule whose rule cannot be asked."""
    known = (schedule.next_occurrence_at, schedule.next_run_at)
    return next((at for at in known if at is not None and at <= now), now)


def run_columns(schedule: Schedule, occurrence: Occurrence, *, spread: int) -> dict[str, Any]:
    """Return what a row of this occurrence has whatever becomes of it; the key makes a second one impossible (R1)."""
    return {
        "kind": "scheduled",
        "scheduled_for": occurrence.at,
        "due_at": occurrence.at + timedelta(seconds=spread),
        "shifted": occurrence.shifted,
        "idempotency_key": f"sched:{schedule.public_id}:{occurrence.at.isoformat()}",
    }


def never_run_row(
    *, schedule: Schedule, planned: Planned, status: str, reason: str, spread: int, now: datetime, **columns: Any
) -> Run:
    """Return a row that is settled as it is opened; a window of several keeps its last instant and its count."""
    window: dict[str, Any] = {}
    if status == RunStatus.MISSED:
        window = {"missed_until": planned.last.at, "missed_count": planned.count}
        if planned.count is None:  # counted later, by the rule under which it was missed
            window["reason_params"] = {"cadence": schedule.cadence, "zone": schedule.zone}
    base = run_columns(schedule, planned.first, spread=spread)
    return lifecycle.opened(schedule, status=status, reason=reason, now=now, **(base | window | columns))


def new_turn(
    schedule: Schedule | None, *, owner_id: int, agent: Agent, run_at: datetime, serial: bool, now: datetime
) -> Turn:
    """Return the unsaved turn of a run. Turns of one series run one at a time, in the order of their occurrences."""
    waits = schedule is not None and (serial or schedule.overlap_policy != Overlap.ALLOW)
    return Turn(
        owner_id=owner_id,
        agent=agent,
        origin="schedule",
        billed_to=schedule.public_id if schedule is not None else "",
        series=f"schedule:{schedule.pk}" if waits and schedule else None,
        series_order=run_at,
        created_at=now,
        queued_at=now,
        not_before=now,
        deadline_seconds=deadline_seconds(
            own=schedule.deadline_seconds if schedule else None,
            agents=agent.deadline_seconds,
            default=settings.DEFAULT_DEADLINE_SECONDS,
            most=settings.MAX_DEADLINE_SECONDS,
        ),
        retry_window_seconds=schedule.retry_window_seconds if schedule else 3600,
    )


def next_columns(schedule: Schedule, *, after: datetime) -> dict[str, Any]:
    """Return mark, due instant and shown instant for what comes after `after`; all null when nothing is left.

    The clock looks at skipped occurrences too, since they get their row; people are shown the next that will run.
    """
    cadence = stored_cadence(schedule.cadence)
    following = next_occurrence(cadence, schedule.zone, after, schedule.until)
    dates, skip_next = left_out(schedule)
    shown = next_to_run(cadence, schedule.zone, after, skip_dates=dates, skip_next=skip_next, until=schedule.until)
    due = following.at + timedelta(seconds=spread_seconds(schedule)) if following else None
    return {
        "planned_through": after,
        "next_run_at": due,
        "next_occurrence_at": shown.at if shown else None,
    }
