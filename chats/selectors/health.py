"""Which worker hosts live: read by supervisors, drains, banners and health."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Max

from accounts.selectors.deletions import not_deleting
from accounts.selectors.stops import global_stop
from chats.domain.origins import BY_PERSON
from chats.domain.states import TurnStatus
from chats.models import Turn, WorkerHost
from core.db import any_by

CLOCK_SILENT_SECONDS = 30
"""A clock that has not ticked for this long counts as silent on every page and in every report."""
DRAIN_SILENT_SECONDS = 60
"""A turn that could have been leased for this long says that no drain works."""
CLOCK_HUNG_SECONDS = 20.0
DRAIN_HUNG_SECONDS = 10.0
"""A clock, or a drain with work to do, that shows no sign for this long is replaced by its supervisor."""


def host_stopping(name: str) -> bool:
    """Return whether the host was asked to shut down (R30)."""
    return WorkerHost.objects.filter(name=name, stopped_at__isnull=False).exists()


def clock_age(now: datetime) -> float | None:
    """Return seconds since any clock ticked, or None when none ever did."""
    last = WorkerHost.objects.aggregate(last=Max("clock_at"))["last"]
    return max((now - last).total_seconds(), 0.0) if last else None


def drain_age(now: datetime) -> float | None:
    """Return seconds since any drain noted that it lives, or None when none ever did."""
    last = WorkerHost.objects.aggregate(last=Max("drain_at"))["last"]
    return max((now - last).total_seconds(), 0.0) if last else None


def drains_needed(now: datetime, *, older_than: float) -> bool:
    """Return whether a turn could have been leased for `older_than` seconds and was not.

    Under the global stop only what people began counts, and never what is of people whose account is being deleted:
    nothing else may be leased.
    """
    since = now - timedelta(seconds=older_than)
    only = {"lane": "interactive", "origin__in": BY_PERSON} if global_stop() is not None else {}
    queued = Turn.objects.filter(status=TurnStatus.QUEUED, not_before__lte=since, queued_at__lte=since)
    waiting = queued.filter(not_deleting())
    return any_by(waiting.filter(**only), "not_before")


def successor_leases(*, host: str, worker: str, since: datetime) -> bool:
    """Return whether another drain of `host` has leased a turn after `since`."""
    running = Turn.objects.filter(status=TurnStatus.RUNNING, leased_by__startswith=f"{host}/", leased_at__gt=since)
    return running.exclude(leased_by=worker).exists()
