"""Makes room for a newer run of the same schedule (overlap rule `replace`)."""

from __future__ import annotations

from datetime import datetime

from chats.services.turns_stop import turn_cancel, turn_stop
from schedules.models import Run, Schedule


def schedule_clear(schedule: Schedule, *, now: datetime, reason: str = "replaced") -> int:
    """Stop what runs and cancel what waits of `schedule`; return how many. The series lets the newer one wait."""
    unfinished = Run.objects.filter(schedule=schedule, settled_at__isnull=True, turn__isnull=False)
    rows = list(unfinished.values_list("turn_id", "started_at"))
    for turn_id, started in rows:
        if started is None:
            turn_cancel(turn_id=turn_id, reason=reason, now=now)
        else:
            turn_stop(turn_id=turn_id, reason=reason, now=now)
    return len(rows)
