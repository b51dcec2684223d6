"""What the pages show beside schedules and runs as lists: what is being written, and whether anything can run now."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Substr

from accounts.models import User
from accounts.selectors.stops import Stop, global_stop
from chats.models import Message
from chats.selectors.health import clock_age
from schedules.models import Run

CLOCK_SILENT_SECONDS = 30
"""A clock that has not ticked for so long is said on every page (interfaces.md, Side panel)."""

_SHOWN = 2_000


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
    """Return what every page says in a banner, in two queries."""
    return Standing(stop=global_stop(), silent_seconds=clock_age(now))


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
        found[run.schedule_id].append(_open_run(run))
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
        text=run.written or "",
    )
