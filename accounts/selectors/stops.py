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


def stop_lifted_at() -> datetime | None:
    """Return when the switch was last put back to off, or None: a wait ended then, and lateness is asked again (R38)."""
    return GlobalStop.objects.filter(on=False).values_list("changed_at", flat=True).first()


def global_stop() -> Stop | None:
    """Return the stop that is on, or None. The environment's wins: no switch lifts it."""
    if settings.GLOBAL_STOP:
        return Stop(reason=settings.GLOBAL_STOP_REASON, since=None, by="")
    row = GlobalStop.objects.select_related("changed_by").filter(on=True).first()
    if row is None:
        return None
    return Stop(reason=row.reason, since=row.changed_at, by=row.changed_by.called if row.changed_by else "")
