"""Heal turns whose worker is gone: requeue under a new fence, or settle with what was flushed (Recovery, R40)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef

from agents.models import Agent
from agents.services.tombstones import agents_mend
from chats.domain.states import ACTIVE_TURN, TurnStatus
from chats.models import Message, Turn, TurnAttempt, WorkerHost
from chats.services.turns_order import conversations_hold, owners_hold
from chats.services.turns_settle import Ended, seconds_leased, turns_settle
from core.db import locked

logger = logging.getLogger(__name__)


def leases_recover(*, now: datetime, most: int = 100) -> int:
    """Settle or requeue turns whose lease has expired, least recently examined first; return how many.

    Each in a transaction of its own, so that a row that keeps failing starves nobody (R29); evidence that cannot be
    read settles nothing (R28). The settle repeats status and fence, so a heartbeat that came first wins.
    """
    dead = (
        Turn.objects.filter(status=TurnStatus.RUNNING, lease_expires_at__lt=now)
        .order_by(F("examined_at").asc(nulls_first=True), "lease_expires_at")
        .only("pk", "fence")
    )
    healed = 0
    for turn in list(dead[:most]):
        Turn.objects.filter(pk=turn.pk).update(examined_at=now)
        try:
            healed += _heal(turn, now)
        except Exception:
            logger.exception("turn %s could not be healed", turn.pk)
    return healed


def _heal(turn: Turn, now: datetime) -> bool:
    """Look at the evidence and settle in one transaction: a worker that wakes in between changes neither (R40)."""
    with transaction.atomic():
        owners_hold(turn_ids=[turn.pk])
        conversations_hold(turn_ids=[turn.pk])
        dead = Turn.objects.filter(pk=turn.pk, status=TurnStatus.RUNNING, fence=turn.fence, lease_expires_at__lt=now)
        held = locked(dead).first()
        return held is not None and bool(turns_settle(ends=[_evidence(held, now)], now=now))


def turns_mend_agents(*, now: datetime) -> int:
    """Give unsettled turns whose agent's row is gone its tombstone; return how many agents were missing.

    Without it a join would leave such a turn out: leased and never started, or answered and never settled.
    """
    unsettled = Turn.objects.filter(status__in=ACTIVE_TURN)
    gone = unsettled.filter(~Exists(Agent.objects.filter(pk=OuterRef("agent_id"))))
    ids = set(gone.values_list("agent_id", flat=True))
    if ids:
        with transaction.atomic():
            agents_mend(ids=ids, now=now)
    return len(ids)


def turns_put_back(*, now: datetime) -> int:
    """Pull waits and leases that a clock written ahead left in the future back to `now` (C15); return how many.

    A wait keeps its length. A lease ends in one lease from now: a live worker renews it long before.
    """
    count = 0
    for turn in Turn.objects.filter(status=TurnStatus.QUEUED, queued_at__gt=now).only("queued_at", "not_before"):
        wait = max(turn.not_before - turn.queued_at, timedelta(0))
        same = Turn.objects.filter(pk=turn.pk, status=TurnStatus.QUEUED, queued_at=turn.queued_at)
        count += same.update(queued_at=now, not_before=now + wait)
    lease = timedelta(seconds=settings.LEASE_SECONDS)
    ahead = Turn.objects.filter(status=TurnStatus.RUNNING, lease_expires_at__gt=now + 2 * lease)
    return count + ahead.update(lease_expires_at=now + lease)


def leases_of_dead(*, host: str, alive: Callable[[int], bool], now: datetime) -> int:
    """End the leases of this place's workers whose process is gone, so that nobody waits for them to run out.

    A place is one running system (`core.processes.place`): also what an earlier worker command left here when all of
    it was killed is found. A number that another process took over by now counts as alive, and that lease runs out by
    itself. Return how many workers were found dead.
    """
    running = Turn.objects.filter(status=TurnStatus.RUNNING)
    ours = _hosts_here(host)
    workers = [worker for worker in set(running.values_list("leased_by", flat=True)) if worker.split("/")[0] in ours]
    dead = [worker for worker in workers if not alive(_pid(worker))]
    for worker in dead:
        logger.warning("worker %s is gone; its turns are healed now", worker)
        held = running.filter(leased_by=worker, lease_expires_at__gte=now)  # one that ran out is not made longer
        held.update(lease_expires_at=now - timedelta.resolution)
    return len(dead)


def _hosts_here(host: str) -> set[str]:
    place = WorkerHost.objects.filter(name=host).values_list("place", flat=True).first()
    if not place:
        return {host}
    return set(WorkerHost.objects.filter(place=place).values_list("name", flat=True)) | {host}


def _pid(worker: str) -> int:
    return int(worker.split("/")[1])


def _evidence(turn: Turn, now: datetime) -> Ended:
    message = locked(Message.objects.filter(turn=turn, role="assistant")).only("text").first()
    text = message.text if message else ""
    attempt = TurnAttempt.objects.filter(turn=turn, fence=turn.fence).first()
    called = attempt is not None and attempt.dispatched_at is not None
    if turn.stop_requested_at:
        return Ended(turn.pk, turn.fence, "stopped", text, code=turn.stop_reason, healing=True)
    spent = turn.leased_seconds + seconds_leased(turn, now=now)
    if called and spent >= turn.deadline_seconds:
        minutes = {"minutes": round(turn.deadline_seconds / 60)}
        return Ended(turn.pk, turn.fence, "timed_out", text, code="deadline", params=minutes, healing=True)
    return Ended(
        turn.pk, turn.fence, "lost", text, code="worker_lost", certainty="ambiguous" if called else "definite",
        retryable=True, healing=True,
    )  # fmt: skip
