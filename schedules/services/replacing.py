"""Makes room for a newer run of the same schedule (overlap rule `replace`)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Manager

from chats.models import Conversation, Turn
from chats.services.turns_order import conversations_hold
from chats.services.turns_stop import turn_cancel, turn_stop
from core.db import is_postgresql, locked
from schedules.domain.states import Overlap
from schedules.models import Run, Schedule


def schedule_clear(schedule: Schedule, *, now: datetime, reason: str = "replaced") -> int:
    """Stop what runs and cancel what waits of `schedule`; return how many. The series lets the newer one wait."""
    rows = list(_unfinished([schedule.pk]).values_list("turn_id", "started_at"))
    for turn_id, started in rows:
        # One that is leased but has not started can no longer be cancelled: it is asked to stop.
        if started is not None or not turn_cancel(turn_id=turn_id, reason=reason, now=now):
            turn_stop(turn_id=turn_id, reason=reason, now=now)
    return len(rows)


def turns_hold(schedule: Schedule) -> None:
    """Lock the unfinished turns of `schedule` before its own row: conversation, turn, schedule is everybody's order."""
    turns = list(_unfinished([schedule.pk]).values_list("turn_id", flat=True))
    conversations_hold(turn_ids=turns)
    list(locked(Turn.objects.filter(pk__in=turns).order_by("pk")).only("pk"))


def schedules_busy(schedules: Iterable[Schedule]) -> set[int]:
    """Return the schedules whose unfinished turns cannot be replaced in this instant: a worker starts or settles one.

    The clock holds the schedules already and so may not wait for turns; a busy schedule stays due and is looked at
    again within the tick.
    """
    replacing = [schedule.pk for schedule in schedules if schedule.overlap_policy == Overlap.REPLACE]
    if not replacing or not is_postgresql():
        return set()
    wanted = list(_unfinished(replacing).values_list("schedule_id", "turn_id", "turn__conversation_id"))
    conversations = _held_at_once(Conversation.objects, [row[2] for row in wanted if row[2] is not None])
    turns = _held_at_once(Turn.objects, [row[1] for row in wanted])
    return {
        schedule for schedule, turn, conversation in wanted
        if turn not in turns or (conversation is not None and conversation not in conversations)
    }  # fmt: skip


def _held_at_once(rows: Manager[Any], ids: list[int]) -> set[int]:
    """Lock what nobody holds of these rows, without waiting; return their ids."""
    return {row.pk for row in locked(rows.filter(pk__in=ids).order_by("pk"), skip_locked=True).only("pk")}


def _unfinished(schedules: Iterable[int]):  # type: ignore[no-untyped-def]
    return Run.objects.filter(schedule__in=list(schedules), settled_at__isnull=True, turn__isnull=False)
