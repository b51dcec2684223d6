"""How many runs of an owner have reached a model today, in the owner's zone (daily_runs, gate row 14)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from django.db.models import Q

from accounts.domain.limits import Limits
from accounts.models import User
from chats.domain.states import TurnStatus
from chats.models import Turn
from core import walltime


def used_today(*, limits: Mapping[int, Limits], now: datetime) -> dict[int, int]:
    """Return owner -> runs started since the owner's midnight, for owners with a daily quota only."""
    bound = [owner for owner, limit in limits.items() if limit.daily_runs is not None]
    if not bound:
        return {}
    zones = dict(User.objects.filter(pk__in=bound).values_list("pk", "zone"))
    return {owner: _started(owner, _midnight(now, zones.get(owner, "UTC"))) for owner in bound}


def _midnight(now: datetime, zone: str) -> datetime:
    try:
        tz = walltime.zone(zone)
    except walltime.UnknownZone:
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
    day = now.astimezone(tz).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return walltime.place(day, tz)[0].astimezone(UTC)


def _started(owner: int, midnight: datetime) -> int:
    """Turns, which deleting a schedule does not touch: those that called a model today, and those about to."""
    today = Turn.objects.filter(owner=owner, lane="scheduled", origin="schedule", leased_at__gte=midnight)
    about_to = Q(status=TurnStatus.RUNNING, started_at__gte=midnight)
    return today.filter(Q(first_dispatched_at__gte=midnight) | about_to).count()
