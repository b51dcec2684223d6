"""Compares what is with what must be, every few seconds: dead leases, lost hints, unarmed and dying schedules."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction
from django.db.models import Exists, OuterRef, Q

from accounts.services.erasing import deletions_sweep
from accounts.services.idempotency import keys_sweep, made_gone
from chats.services.turns_recover import leases_recover, turns_mend_agents
from core.db import locked
from schedules import lifecycle
from schedules.domain.cadence import CadenceError, stored_cadence
from schedules.domain.misfire import count_due
from schedules.domain.occurrences_window import newest_occurrences
from schedules.models import Run, Schedule
from schedules.services.arming import schedule_arm, write_columns
from schedules.services.runs import run_keys_keep
from schedules.services.telling import tell_blocked
from schedules.services.upkeep import runs_sweep

logger = logging.getLogger(__name__)
BATCH = 100


def reconcile(*, now: datetime) -> int:
    """Heal what can be healed now, in bounded batches; return how many rows were healed.

    A part that fails keeps none of the others from its work, and no schedule keeps another one waiting (R29).
    """
    parts: list[Callable[[], int]] = [
        lambda: turns_mend_agents(now=now),
        lambda: leases_recover(now=now, most=BATCH),
        count_windows,
        lambda: _each(_unarmed(), _arm, now),
        lambda: _each(_dying(), _erase, now),
        lambda: deletions_sweep(now=now),
        lambda: keys_sweep(now=now),
        lambda: runs_sweep(now=now),
    ]
    healed = 0
    for part in parts:
        try:
            healed += part()
        except Exception:
            logger.exception("a part of recovery failed; the others go on")
    return healed


def count_windows(most: int = 5) -> int:
    """Count the missed windows that were too long to be counted in a tick; return how many.

    In no order, so that windows whose rule can be read no longer starve no other (R29).
    """
    rows = Run.objects.filter(missed_until__isnull=False, missed_count__isnull=True, schedule__isnull=False)
    return sum(_count(run) for run in rows.select_related("schedule").order_by("?")[:most])


def _count(run: Run) -> int:
    if run.schedule is None or run.missed_until is None:
        return 0
    try:
        rule = {"cadence": run.schedule.cadence, "zone": run.schedule.zone} | run.reason_params
        cadence = stored_cadence(rule["cadence"])
        number = count_due(cadence, rule["zone"], run.scheduled_for - timedelta.resolution, run.missed_until)
    except CadenceError:
        logger.warning("the missed window of run %s could not be counted", run.public_id, exc_info=True)
        return 0
    return Run.objects.filter(pk=run.pk, missed_count__isnull=True).update(missed_count=number, reason_params={})


# What is to be healed is taken in no order, so that rows that keep failing starve no other (R29).


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
    return list(rows.order_by("?").values_list("pk", flat=True)[:BATCH])


def _arm(schedule: Schedule, now: datetime) -> bool:
    """R6: enabled implies armed; what cannot be armed is blocked with the reason."""
    if not schedule.is_on or schedule.next_run_at is not None:
        return False
    try:
        schedule_arm(schedule, now=now)
    except DatabaseError:
        raise  # R28: what cannot be read settles nothing
    except Exception as error:  # noqa: BLE001 - whatever the row holds, it must not be looked at for ever (R29)
        reason, params = error.reason() if isinstance(error, CadenceError) else ("internal", {})
        if lifecycle.block(schedule, reason=reason, params=params, now=now):
            tell_blocked(schedule, now=now)
    return True


def _dying() -> list[int]:
    active = Run.objects.filter(schedule=OuterRef("pk"), settled_at__isnull=True)
    rows = Schedule.objects.filter(~Exists(active), deleting_at__isnull=False).order_by("?")
    return list(rows.values_list("pk", flat=True)[:BATCH])


def _erase(schedule: Schedule, now: datetime) -> bool:
    if schedule.deleting_at is None or Run.objects.filter(schedule=schedule, settled_at__isnull=True).exists():
        return False
    made_gone(made=[schedule.public_id], now=now)
    run_keys_keep(schedule, now=now)
    lifecycle.erase(schedule, now=now)
    return True


def marks_put_back(*, now: datetime, most: int = BATCH) -> int:
    """Re-arm from `now` schedules whose mark lies in the future: a clock that was wrong was put right (C15).

    Return how many were looked at; call it again until that is none.
    """
    over = Q(completed_at__gt=now)  # what was wrong may have ended it too
    ahead = Schedule.objects.filter(Q(next_run_at__isnull=False) | over, planned_through__gt=now).order_by("pk")
    ids = list(ahead.values_list("pk", flat=True)[:most])
    return len(ids) if _each(ids, _put_back, now) else 0


def _put_back(schedule: Schedule, now: datetime) -> bool:
    """The rows of occurrences that have not come yet go: what never ran was not missed, and will have its own row."""
    if schedule.planned_through <= now:
        return False
    lifecycle.withdraw(schedule, now=now)
    for run in Run.objects.filter(schedule=schedule, scheduled_for__lte=now, missed_until__gt=now):
        cadence, before = stored_cadence(schedule.cadence), run.scheduled_for - timedelta.resolution
        [last] = newest_occurrences(cadence, schedule.zone, before, now, 1)
        Run.objects.filter(pk=run.pk).update(missed_until=last.at, missed_count=None)
    write_columns(schedule, {"planned_through": now})
    schedule_arm(schedule, now=now)
    return True
