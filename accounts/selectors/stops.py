"""Whether everything is on hold (gate row 1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from accounts.models import GlobalStop


@dataclass(frozen=True)
class Stop:
    """The global stop: its reason, since when, and who switched it (empty when the environment did)."""

    reason: str
    since: datetime | None
    by: str


@dataclass(frozen=True)
class Wait:
    """The last stop that has ended; `began` is None when that is not known."""

    began: datetime | None
    lifted: datetime


def last_wait() -> Wait | None:
    """Return the last time that the switch was on, or None: lateness is asked again when it was put back (R38)."""
    row = GlobalStop.objects.filter(on=False, changed_at__isnull=False).first()
    return Wait(row.began_at, row.changed_at) if row and row.changed_at else None


def global_stop() -> Stop | None:
    """Return the stop that is on, or None. The environment's wins: no switch lifts it."""
    if settings.GLOBAL_STOP:
        return Stop(reason=settings.GLOBAL_STOP_REASON, since=None, by="")
    row = GlobalStop.objects.select_related("changed_by").filter(on=True).first()
    if row is None:
        return None
    return Stop(reason=row.reason, since=row.changed_at, by=row.changed_by.called if row.changed_by else "")
