"""Lease queued turns: capacity, fairness between owners, and one at a time per series (R23 to R25)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from accounts.selectors.deletions import fenced_owners, not_deleting
from accounts.selectors.limits import deployment_limits, limits_for
from accounts.selectors.stops import global_stop
from chats import lifecycle
from chats.domain.origins import BY_PERSON
from chats.domain.states import TurnStatus
from chats.models import Turn
from core.db import any_by, serialised, sql_instant

CLAIM_LOCK = 0x51_75_6F_74  # one claimer at a time, so that capacity counted is capacity granted

_CANDIDATES = """
WITH ready AS (
    SELECT t.id, t.owner_id, t.queued_at,
           ROW_NUMBER() OVER (PARTITION BY t.owner_id ORDER BY t.queued_at, t.id) AS place
    FROM chats_turn t
    WHERE t.status = 'queued' AND t.lane = %s AND t.not_before <= %s {but_owners} {only_origins}
      AND (t.series IS NULL OR NOT EXISTS (
        SELECT 1 FROM chats_turn b
        -- the status list repeats the condition of the partial index, which the planner uses only then
        WHERE b.series = t.series AND b.status IN ('queued', 'running') AND b.id <> t.id AND (
            b.status = 'running'
            OR (b.status = 'queued' AND (b.series_order < t.series_order
                OR (b.series_order = t.series_order AND b.id < t.id))))))
), busy AS (
    SELECT owner_id, COUNT(*) AS n FROM chats_turn WHERE status = 'running' AND lane = %s GROUP BY owner_id
), served AS (
    -- of the owners that wait, when each was last given a turn: one look into an index each
    SELECT o.owner_id, (
        SELECT s.leased_at FROM chats_turn s
        WHERE s.owner_id = o.owner_id AND s.lane = %s AND s.leased_at IS NOT NULL
        ORDER BY s.leased_at DESC LIMIT 1) AS at
    FROM (SELECT DISTINCT owner_id FROM ready) o
)
SELECT r.id, r.owner_id, r.place + COALESCE(b.n, 0) AS round
FROM ready r JOIN served s ON s.owner_id = r.owner_id LEFT JOIN busy b ON b.owner_id = r.owner_id
ORDER BY round, s.at IS NOT NULL, s.at, r.queued_at, r.id LIMIT %s
"""


def turns_claim(*, worker: str, most: int, now: datetime) -> list[Turn]:
    """Lease at most `most` turns for `worker`, interactive ones first, and return them.

    Under the global stop only what a person began is leased (gate row 1), and that never lies in the scheduled lane:
    what else is queued stays queued.
    """
    with serialised(CLAIM_LOCK):
        stopped = global_stop() is not None
        ids = _interactive(most, now, origins=BY_PERSON if stopped else ())
        if len(ids) < most and not stopped:
            ids += _scheduled(most - len(ids), now)
        if not ids:
            return []
        expires = now + timedelta(seconds=settings.LEASE_SECONDS)
        return lifecycle.lease(ids, worker=worker, now=now, expires_at=expires)


def turns_waiting(*, now: datetime) -> bool:
    """Return whether any turn could be leased by its time and its owner alone; one read, asked before locking."""
    queued = Turn.objects.filter(not_deleting(), status=TurnStatus.QUEUED, not_before__lte=now)
    return any_by(queued, "not_before")


def _running(lane: str) -> Counter[int]:
    rows = Turn.objects.filter(status=TurnStatus.RUNNING, lane=lane).values_list("owner_id", flat=True)
    return Counter(rows.iterator())


def _interactive(most: int, now: datetime, *, origins: tuple[str, ...]) -> list[int]:
    queued = Turn.objects.filter(status=TurnStatus.QUEUED, lane="interactive", not_before__lte=now)
    if not any_by(queued, "lane", "owner", "queued_at"):
        return []
    free = settings.MAX_INTERACTIVE_TURNS - sum(_running("interactive").values())
    return [row[0] for row in _candidates("interactive", min(most, free), now, [], origins)]


def _scheduled(most: int, now: datetime) -> list[int]:
    busy = _running("scheduled")
    free = min(most, deployment_limits().max_concurrent_turns - sum(busy.values()))
    if free <= 0:
        return []
    caps = {owner: limits.max_concurrent for owner, limits in limits_for(list(busy)).items()}
    full = [owner for owner, n in busy.items() if n >= caps[owner]]
    rows = _candidates("scheduled", free, now, full)
    missing = {owner for _, owner, _ in rows} - caps.keys()
    if missing:
        caps |= {owner: limits.max_concurrent for owner, limits in limits_for(list(missing)).items()}
    return [turn_id for turn_id, owner, round_ in rows if round_ <= caps[owner]]


def _candidates(
    lane: str, most: int, now: datetime, but_owners: list[int], origins: tuple[str, ...] = ()
) -> list[tuple[int, int, int]]:
    """Return (turn, owner, round) in the order of rounds: each owner's first, then each owner's second, and so on.

    Within a round who was served longest ago comes first: what ran before counts too (R23). Of people whose account is
    being deleted nothing is leased (gate row 2).
    """
    if most <= 0:
        return []
    but_owners = [*but_owners, *fenced_owners()]
    but = f"AND t.owner_id NOT IN ({', '.join(['%s'] * len(but_owners))})" if but_owners else ""
    only = f"AND t.origin IN ({', '.join(['%s'] * len(origins))})" if origins else ""
    given = [lane, sql_instant(now), *but_owners, *origins, lane, lane, most]
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATES.format(but_owners=but, only_origins=only), given)
        return cursor.fetchall()
