"""What the pages show beside schedules and runs as lists: what is being written, and whether anything can run now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Substr

from accounts.models import GlobalStop, User
from accounts.selectors.stops import Stop, global_stop
from chats.models import Message, WorkerHost
from chats.selectors.health import CLOCK_SILENT_SECONDS
from projects.domain.destination import resolve_destination
from projects.models import ChatProject
from projects.selectors import ProjectFacts, policy_of, project_facts
from schedules.models import Run, Schedule
from schedules.selectors.lists import ScheduleRow, state_of_agent

_SHOWN = 2_000

_CARD_COLUMNS = (
    "public_id", "owner_id", "name", "cadence", "zone", "until", "enabled", "paused_at", "blocked_reason",
    "blocked_params", "completed_at", "deleting_at", "skip_next_at", "next_occurrence_at", "revision",
    "agent__public_id", "agent__name", "agent__owner_id", "agent__enabled", "agent__deleted_at",
    "agent__model__enabled", "agent__model__deleted_at", "agent__model__provider__kind",
    "agent__model__provider__enabled", "agent__model__provider__deleted_at",
    "project__public_id", "project__name", "project__owner_id", "project__colour", "project__archived_at",
    "project__deleted_at", "last_run__status", "last_run__reason", "last_run__reason_params",
    "last_run__scheduled_for", "last_run__duration_seconds", "last_run__conversation__public_id",
    "last_run__conversation__deleted_at",
)  # fmt: skip


@dataclass(frozen=True)
class OpenRun:
    """An unsettled run as a card shows it: what it waits for, or what it has written so far."""

    run_id: str
    schedule_id: int
    status: str
    scheduled_for: datetime
    opened_at: datetime
    started_at: datetime | None
    attempts: int
    not_before: datetime | None
    error_code: str
    stopping: bool
    conversation: str
    text: str


@dataclass(frozen=True)
class Standing:
    """Whether what falls due can run: the global stop, and for how long no clock has ticked (None: never one)."""

    stop: Stop | None
    silent_seconds: float | None

    @property
    def silent(self) -> bool:
        return self.silent_seconds is None or self.silent_seconds > CLOCK_SILENT_SECONDS


def standing(now: datetime) -> Standing:
    """Return what every page says in a banner: one query, one more while the stop is on or no worker ever ran."""
    on = GlobalStop.objects.filter(on=True).values("pk")[:1]
    seen = WorkerHost.objects.aggregate(ticked=Max("clock_at"), stopped=Max(Subquery(on)))
    ask = settings.GLOBAL_STOP or seen["stopped"] is not None or seen["ticked"] is None
    ticked = seen["ticked"]
    silent = max((now - ticked).total_seconds(), 0.0) if ticked is not None else None
    return Standing(stop=global_stop() if ask else None, silent_seconds=silent)


def carded(schedules: QuerySet[Schedule]) -> QuerySet[Schedule]:
    """Load of schedules and what they point to only the columns that cards show: a third of all, and no long text."""
    loaded = schedules.select_related(None).select_related(
        "agent__model__provider", "project", "last_run__conversation"
    )
    return loaded.only(*_CARD_COLUMNS)


def panel_rows(
    owner: User, schedules: Iterable[Schedule], open_runs: Mapping[int, Sequence[OpenRun]]
) -> list[ScheduleRow]:
    """Return what `schedule_rows` returns for schedules of one owner whose open runs are known: two queries fewer."""
    policy = policy_of(owner)
    pin = project_facts([policy.pin_id]).get(policy.pin_id) if policy.pin_id is not None else None
    rows = []
    for schedule in schedules:
        schedule.owner = owner
        destination = resolve_destination(schedule.project_id, policy)
        stored = loaded_facts(schedule.project) if destination.source == "stored" and schedule.project else None
        rows.append(
            ScheduleRow(
                schedule=schedule,
                open_runs=Counter(run.status for run in open_runs.get(schedule.pk, ())),
                destination=destination,
                project=pin if destination.source == "pin" else stored,
                agent_state=state_of_agent(schedule.agent),
            )
        )
    return rows


def loaded_facts(project: ChatProject) -> ProjectFacts:
    """Return the facts of a project that is loaded already."""
    archived, deleted = project.archived_at is not None, project.deleted_at is not None
    return ProjectFacts(project.pk, project.public_id, project.name, project.owner_id, archived, deleted)


def open_runs_of(owner: User, *, schedule_id: int | None = None) -> dict[int, list[OpenRun]]:
    """Return the owner's unsettled runs by schedule, oldest first, with the beginning of what they have written."""
    answer = Message.objects.filter(turn=OuterRef("turn"), role="assistant")
    runs = Run.objects.filter(owner=owner, settled_at=None, schedule__isnull=False)
    if schedule_id is not None:
        runs = runs.filter(schedule=schedule_id)
    rows = (
        runs.select_related("turn", "conversation")
        .annotate(written=Subquery(answer.values(part=Substr("text", 1, _SHOWN))[:1]))
        .order_by("scheduled_for", "pk")
    )
    found: dict[int, list[OpenRun]] = defaultdict(list)
    for run in rows:
        found[run.schedule_id or 0].append(_open_run(run))
    return dict(found)


def _open_run(run: Run) -> OpenRun:
    turn, conversation = run.turn, run.conversation
    return OpenRun(
        run_id=run.public_id,
        schedule_id=run.schedule_id or 0,
        status=run.status,
        scheduled_for=run.scheduled_for,
        opened_at=run.opened_at,
        started_at=run.started_at,
        attempts=turn.attempts_made if turn else 0,
        not_before=turn.not_before if turn else None,
        error_code=turn.error_code if turn else "",
        stopping=bool(turn and turn.stop_requested_at),
        conversation=conversation.public_id if conversation and conversation.deleted_at is None else "",
        text=getattr(run, "written", None) or "",
    )
