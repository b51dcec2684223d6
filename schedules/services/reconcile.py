"""Compares what is with what must be, every few seconds: dead leases, lost hints, unarmed and dying schedules."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction

from chats.services.turns_recover import leases_recover
from core.db import locked
from schedules import lifecycle
from schedules.domain.cadence import CadenceError, stored_cadence
from schedules.domain.misfire import count_due
from schedules.models import Run, Schedule
from schedules.services.arming import schedule_arm
from schedules.services.origin import tell_blocked

logger = logging.getLogger(__name__)
BATCH = 100


def reconcile(*, now: datetime) -> int:
    """Heal what can be healed now, in bounded batches, each row isolated (R29); return how many rows were healed."""
    healed = leases_recover(now=now, most=BATCH) + count_windows()
    return healed + _each(_unarmed(), _arm, now) + _each(_dying(), _erase, now)


def count_windows(most: int = 5) -> int:
    """Count the missed windows that were too long to be counted in a tick; return how many."""
    rows = Run.objects.filter(missed_until__isnull=False, missed_count__isnull=True, schedule__isnull=False)
    counted = 0
    for run in rows.select_related("schedule")[:most]:
        cadence = stored_cadence(run.schedule.cadence)
        just_before = run.scheduled_for - timedelta.resolution
        number = count_due(cadence, run.schedule.zone, just_before, run.missed_until)
        counted += Run.objects.filter(pk=run.pk, missed_count__isnull=True).update(missed_count=number)
    return counted


def _each(ids: list[int], heal, now: datetime) -> int:
    healed = 0
    for pk in ids:
        try:
            with transaction.atomic():
                schedule = locked(Schedule.objects.filter(pk=pk)).first()
                healed += bool(schedule and heal(schedule, now))
        except Exception:
            logger.exception("schedule %d could not be healed", pk)
    return healed


def _unarmed() -> list[int]:
    rows = Schedule.objects.filter(
        enabled=True, blocked_reason="", completed_at__isnull=True, deleting_at__isnull=True, next_run_at__isnull=True
    )
    return list(rows.values_list("pk", flat=True)[:BATCH])


def _arm(schedule: Schedule, now: datetime) -> bool:
    """R6: enabled implies armed; what cannot be armed is blocked with the reason."""
    if not schedule.is_on or schedule.next_run_at is not None:
        return False
    try:
        schedule_arm(schedule, now=now)
    except CadenceError as error:
        if lifecycle.block(schedule, reason=error.code, params=dict(error.params), now=now):
            tell_blocked(schedule, now=now)
    return True


def _dying() -> list[int]:
    return list(Schedule.objects.filter(deleting_at__isnull=False).values_list("pk", flat=True)[:BATCH])


def _erase(schedule: Schedule, now: datetime) -> bool:
    if schedule.deleting_at is None or Run.objects.filter(schedule=schedule, settled_at__isnull=True).exists():
        return False
    lifecycle.erase(schedule, now=now)
    return True


def marks_put_back(*, now: datetime) -> int:
    """Re-arm from `now` every schedule whose mark lies in the future: a clock that was wrong was put right (C15)."""
    ahead = Schedule.objects.filter(planned_through__gt=now, next_run_at__isnull=False)
    return _each(list(ahead.values_list("pk", flat=True)), _put_back, now)


def _put_back(schedule: Schedule, now: datetime) -> bool:
    if schedule.planned_through <= now:
        return False
    schedule_arm(schedule, now=now)
    return True
