"""Schedules and runs as lists and pages show them, read in bulk: as many queries for fifty as for one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Value, When

from accounts.models import User
from agents.selectors import state_of_agent
from projects.domain.destination import Destination, resolve_destination
from projects.models import ChatProject
from projects.selectors import ProjectFacts, policies_for, project_facts
from schedules.domain.states import RunStatus
from schedules.models import Run, Schedule

STATES = ("deleting", "blocked", "needs_approval", "running", "queued", "paused", "completed", "armed")
"""In the order in which the first that holds is the state (interfaces.md, Card)."""

_MOST_COMPOUND = 100  # SQLite takes 500 parts of one compound select at most


@dataclass(frozen=True)
class ScheduleRow:
    """A schedule with what a card and the wire show beside its columns.

    `open_runs` counts its unsettled runs by status; `project` is the effective one, None when there is none or the
    pin is one that the owner does not have; `agent_state` is the word of `agents.selectors.state_of_agent`.
    """

    schedule: Schedule
    open_runs: Mapping[str, int]
    destination: Destination
    project: ProjectFacts | None
    agent_state: str

    @property
    def state(self) -> str:
        return schedule_state(self)


@dataclass(frozen=True)
class Outcome:
    """One ledger row in a strip of outcomes; `missed_count` is set on a window of missed occurrences."""

    run_id: str
    status: str
    reason: str
    scheduled_for: datetime
    missed_count: int | None


def schedule_state(row: ScheduleRow) -> str:
    """Return the first of STATES that holds."""
    own = own_state(row.schedule)
    if own in ("deleting", "blocked"):
        return own
    open_ones = (RunStatus.NEEDS_APPROVAL, RunStatus.RUNNING, RunStatus.QUEUED)
    return next((status.value for status in open_ones if row.open_runs.get(status.value)), own)


def own_state(schedule: Schedule) -> str:
    """Return the state that the schedule's own columns decide, whatever its runs do."""
    if schedule.deleting_at is not None:
        return "deleting"
    if schedule.blocked_reason:
        return "blocked"
    if not schedule.enabled:
        return "paused"
    return "completed" if schedule.completed_at is not None else "armed"


def schedules_of(owner: User) -> QuerySet[Schedule]:
    """Return the owner's schedules with what rows need loaded; those being deleted are hidden (P15, Delete)."""
    return Schedule.objects.filter(owner=owner, deleting_at=None).select_related(
        "owner", "agent__model__provider", "project", "target", "last_run__conversation"
    )


def names_of(owner: User, public_ids: Collection[str]) -> dict[str, str]:
    """Return what these schedules of `owner` are called, by public id; one that is deleted is absent."""
    rows = Schedule.objects.filter(owner=owner, public_id__in=list(public_ids), deleting_at=None)
    return dict(rows.values_list("public_id", "name"))


def schedule_find(owner: User, public_id: str) -> Schedule | None:
    """Return the owner's schedule, or None when it is not there, being deleted, or somebody else's (P15)."""
    return schedules_of(owner).filter(public_id=public_id).first()


def may_be_fired(owner: User, public_id: str) -> bool:
    """Return whether a token may be made that fires this schedule: it is the owner's."""
    return schedule_find(owner, public_id) is not None


def in_state(schedules: QuerySet[Schedule], state: str) -> QuerySet[Schedule]:
    """Keep the schedules whose state is `state`, decided in the database by the order of `schedule_state`."""

    def has(status: RunStatus) -> Exists:
        return Exists(Run.objects.filter(schedule=OuterRef("pk"), status=status, settled_at=None))

    decided = Case(
        When(deleting_at__isnull=False, then=Value("deleting")),
        When(~Q(blocked_reason=""), then=Value("blocked")),
        When(has(RunStatus.NEEDS_APPROVAL), then=Value("needs_approval")),
        When(has(RunStatus.RUNNING), then=Value("running")),
        When(has(RunStatus.QUEUED), then=Value("queued")),
        When(enabled=False, then=Value("paused")),
        When(completed_at__isnull=False, then=Value("completed")),
        default=Value("armed"),
    )
    return schedules.alias(in_state=decided).filter(in_state=state)


def schedule_rows(schedules: Iterable[Schedule]) -> list[ScheduleRow]:
    """Return the rows of `schedules` (loaded by `schedules_of`), in five queries at most."""
    listed = list(schedules)
    open_runs = _open_runs([schedule.pk for schedule in listed])
    policies = policies_for({schedule.owner_id for schedule in listed})
    destinations = {s.pk: resolve_destination(s.project_id, policies[s.owner_id]) for s in listed}
    known = _loaded_projects(listed)
    wanted = {d.project_id for d in destinations.values() if d.project_id is not None}
    known |= project_facts(wanted - known.keys()) if wanted - known.keys() else {}
    return [
        ScheduleRow(
            schedule=schedule,
            open_runs=open_runs.get(schedule.pk, {}),
            destination=destinations[schedule.pk],
            project=_shown(known, destinations[schedule.pk], schedule.owner_id),
            agent_state=state_of_agent(schedule.agent),
        )
        for schedule in listed
    ]


def schedule_row(schedule: Schedule) -> ScheduleRow:
    """Return the row of one schedule, read anew."""
    loaded = Schedule.objects.select_related(
        "owner", "agent__model__provider", "project", "target", "last_run__conversation"
    )
    return schedule_rows([loaded.get(pk=schedule.pk)])[0]


def recent_outcomes(schedule_ids: Collection[int], n: int = 10) -> dict[int, list[Outcome]]:
    """Return the newest `n` ledger rows of each schedule, oldest first, in one statement per hundred schedules.

    Each schedule's rows come from the end of its index, so the cost does not grow with the ledger.
    """
    found: dict[int, list[Outcome]] = defaultdict(list)
    ids = list(schedule_ids)
    for start in range(0, len(ids), _MOST_COMPOUND):
        part = ids[start : start + _MOST_COMPOUND]
        for schedule_id, *values in _newest(part, n):
            found[schedule_id].append(Outcome(*values))
    return {schedule_id: outcomes[::-1] for schedule_id, outcomes in found.items()}


def runs_of(owner: User) -> QuerySet[Run]:
    """Return the owner's ledger with what `run_out` needs loaded; runs of schedules being deleted are hidden."""
    return (
        Run.objects.filter(owner=owner)
        .filter(Q(schedule=None) | Q(schedule__deleting_at=None))
        .select_related("schedule", "agent__model__provider", "project", "conversation", "again_of")
    )


def run_find(owner: User, public_id: str) -> Run | None:
    """Return the owner's run, or None when it is not there or somebody else's (P15)."""
    return runs_of(owner).filter(public_id=public_id).first()


def _newest(schedule_ids: Sequence[int], n: int) -> list[tuple[Any, ...]]:
    if not schedule_ids:
        return []
    columns = "id, schedule_id, public_id, status, reason, scheduled_for, missed_count"
    part = (
        f"SELECT * FROM (SELECT {columns} FROM {Run._meta.db_table} WHERE schedule_id = %s "
        "ORDER BY scheduled_for DESC, id DESC LIMIT %s) AS newest"
    )
    parameters = [value for schedule_id in schedule_ids for value in (schedule_id, n)]
    rows = Run.objects.raw(" UNION ALL ".join([part] * len(schedule_ids)), parameters)
    return [
        (run.schedule_id, run.public_id, run.status, run.reason, run.scheduled_for, run.missed_count) for run in rows
    ]


def _open_runs(schedule_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    rows = Run.objects.filter(schedule_id__in=schedule_ids, settled_at=None).order_by()
    for schedule_id, status, number in rows.values_list("schedule_id", "status").annotate(number=Count("pk")):
        counts[schedule_id][status] = number
    return counts


def _loaded_projects(schedules: Iterable[Schedule]) -> dict[int, ProjectFacts]:
    projects = (schedule.project for schedule in schedules)
    return {project.pk: _facts(project) for project in projects if project is not None}


def _facts(project: ChatProject) -> ProjectFacts:
    archived, deleted = project.archived_at is not None, project.deleted_at is not None
    return ProjectFacts(project.pk, project.public_id, project.name, project.owner_id, archived, deleted)


def _shown(known: Mapping[int, ProjectFacts], destination: Destination, owner_id: int) -> ProjectFacts | None:
    facts = known.get(destination.project_id) if destination.project_id is not None else None
    return facts if facts is not None and facts.owner_id == owner_id else None
