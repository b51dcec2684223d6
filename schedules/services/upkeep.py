"""Slow work of the clock: old rows go, and what older zone data computed is computed anew."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from core.db import locked
from core.walltime import zone_data_version
from schedules.domain.cadence import CadenceError, stored_cadence
from schedules.domain.floor import min_gap_seconds
from schedules.models import Run, Schedule
from schedules.services.arming import write_columns
from schedules.services.rows import next_columns

logger = logging.getLogger(__name__)


def runs_sweep(*, now: datetime, most: int = 200) -> int:
    """Remove settled runs older than `RUN_RETENTION_DAYS`, oldest first, never the newest of a schedule; 0 keeps all.

    Counters are stored figures and do not change by it; conversations stay.
    """
    if settings.RUN_RETENTION_DAYS == 0:
        return 0
    line = now - timedelta(days=settings.RUN_RETENTION_DAYS)
    old = Run.objects.filter(scheduled_for__lt=line, settled_at__lt=line)
    shown = Schedule.objects.filter(last_run=OuterRef("pk"))
    ids = list(old.exclude(Exists(shown)).order_by("scheduled_for", "pk").values_list("pk", flat=True)[:most])
    return Run.objects.filter(pk__in=ids).delete()[0] if ids else 0


def zones_refresh(*, most: int = 200) -> int:
    """Compute anew what other zone data had computed (C6): next instants from the rule and the mark, and least gaps.

    Return how many schedules were looked at; 0 means that nothing is left. A rule that cannot be read any more, or that
    has no date any more, is left to the fire, which gives it its row and says why (R5).
    """
    version = zone_data_version()
    stale = Schedule.objects.filter(next_run_at__isnull=False).exclude(zone_data=version)
    ids = list(stale.order_by("?").values_list("pk", flat=True)[:most])  # in no order: one that fails starves no other
    for pk in ids:
        try:
            with transaction.atomic():
                schedule = locked(stale.filter(pk=pk)).first()
                if schedule is not None:
                    _refresh(schedule, version)
        except Exception:
            logger.exception("what older zone data computed for schedule %d stays", pk)
    return len(ids)


def _refresh(schedule: Schedule, version: str) -> bool:
    columns: dict[str, Any] = {"zone_data": version}
    with suppress(CadenceError):
        cadence = stored_cadence(schedule.cadence)
        gap = min_gap_seconds(cadence, schedule.zone, schedule.planned_through)
        following = next_columns(schedule, after=schedule.planned_through)
        if following["next_run_at"] is not None:
            columns |= following | {"min_gap_seconds": gap}
    write_columns(schedule, columns)
    return True
