"""Tells owners of rows that were settled as they were opened: a night offline is one notice, not one per schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from accounts.services.notices import notice_add
from schedules.domain.states import RunStatus
from schedules.models import Run, Schedule
from schedules.services.origin import tell_settled, wants_to_know

MOST_NAMED = 5


def tell_ended(ended: Iterable[tuple[Schedule, Run]], *, now: datetime) -> None:
    """Put what one look settled into the outbox; what one owner missed at it is told together (B45)."""
    missed: dict[int, list[tuple[Schedule, Run]]] = defaultdict(list)
    for schedule, run in ended:
        if run.status == RunStatus.MISSED:
            missed[schedule.owner_id].append((schedule, run))
        else:
            tell_settled(schedule=schedule, run=run, now=now)
    for owner_id, pairs in missed.items():
        _tell_missed(owner_id, [pair for pair in pairs if wants_to_know(*pair)], now)


def _tell_missed(owner_id: int, pairs: list[tuple[Schedule, Run]], now: datetime) -> None:
    names = {schedule.pk: run.name for schedule, run in pairs}
    if len(names) < 2:
        for schedule, run in pairs[:1]:
            tell_settled(schedule=schedule, run=run, now=now)
        return
    shown = ", ".join(list(names.values())[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    notice_add(
        user_id=owner_id,
        code="runs_missed",
        params={"count": len(names), "names": shown},
        subject="",
        dedupe_key=f"missed:{owner_id}:{now.isoformat()}",
        now=now,
    )
