"""The rows of worker hosts: opened and ended by supervisors, read by them to see whether their children move."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import F

from chats.domain.states import TurnStatus
from chats.models import Turn, WorkerHost


def host_open(*, name: str, hostname: str, now: datetime, place: str = "") -> None:
    """Add the row of a host that starts, and forget hosts that have been silent for a day."""
    WorkerHost.objects.filter(started_at__lt=now - timedelta(days=1)).exclude(
        drain_at__gt=now - timedelta(days=1)
    ).exclude(clock_at__gt=now - timedelta(days=1)).delete()
    WorkerHost.objects.create(name=name, hostname=hostname[:100], place=place[:80], started_at=now)


def host_stop(*, name: str, now: datetime) -> None:
    """Ask the drains of the host to take nothing more and to end (R30); they look once a second."""
    WorkerHost.objects.filter(name=name).update(stopped_at=now)


def host_busy(*, name: str) -> bool:
    """Return whether turns are leased by drains of the host."""
    return Turn.objects.filter(status=TurnStatus.RUNNING, leased_by__startswith=f"{name}/").exists()


def host_restarted(*, name: str) -> None:
    """Count a restart of the host's cluster."""
    WorkerHost.objects.filter(name=name).update(cluster_restarts=F("cluster_restarts") + 1)


def clock_sign(*, name: str) -> datetime | None:
    """Return the last sign of life of the host's clock: whoever watches asks whether it changes, not how old it is."""
    return WorkerHost.objects.filter(name=name).values_list("clock_at", flat=True).first()


def drain_sign(*, name: str) -> datetime | None:
    """Return the last sign of life of the host's drains."""
    return WorkerHost.objects.filter(name=name).values_list("drain_at", flat=True).first()
