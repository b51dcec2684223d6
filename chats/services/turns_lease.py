"""Keep leases alive, and write the text that has come so far. Every write names the fence (R4)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from chats.domain.states import TurnStatus
from chats.models import Message, Turn, WorkerHost
from chats.services.turns_settle import clean
from core.db import locked, update_many


def leases_renew(*, worker: str, turn_ids: Collection[int], now: datetime) -> dict[int, int]:
    """Renew the leases of the turns that `worker` works on in one update; return turn id -> fence of its own ones.

    A turn that it leased and works on no longer (its start or its settle failed) runs out and is recovered. One that
    somebody holds right now, as its own settle does, is left to the next beat: two who each hold a turn that the other
    wants would wait for ever.
    """
    mine = Turn.objects.filter(pk__in=list(turn_ids), leased_by=worker, status=TurnStatus.RUNNING)
    with transaction.atomic():
        free = list(locked(mine.order_by("pk"), skip_locked=True).values_list("pk", flat=True))
        mine.filter(pk__in=free).update(lease_expires_at=now + timedelta(seconds=settings.LEASE_SECONDS))
    return dict(mine.values_list("pk", "fence"))


def stops_requested(*, worker: str) -> dict[int, str]:
    """Return turn id -> reason of the leased turns that somebody asked to stop."""
    rows = Turn.objects.filter(leased_by=worker, status=TurnStatus.RUNNING, stop_requested_at__isnull=False)
    return dict(rows.values_list("pk", "stop_reason"))


def text_flush(*, rows: Sequence[tuple[int, int, str]]) -> None:
    """Write (message id, fence, whole text so far) for a batch of streaming answers."""
    update_many(
        Message,
        ["text"],
        [(clean(text, None), message_id, fence, "streaming") for message_id, fence, text in rows],
        keys=["pk", "fence", "state"],
    )


def host_beat(*, name: str, now: datetime, columns: Iterable[str]) -> None:
    """Note that the clock or a drain of host `name` lives; `columns` are of `clock_at`, `drain_at`."""
    WorkerHost.objects.filter(name=name).update(**dict.fromkeys(columns, now))
