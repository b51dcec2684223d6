"""Runs that a person or a client starts or stops by hand (R7)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max

from accounts.models import IdempotencyKey, User
from accounts.selectors.deletions import refuse_deleting
from accounts.selectors.permissions import may
from accounts.selectors.stops import global_stop
from accounts.services.idempotency import replay_find
from chats.queue import hint_drain
from chats.services.turns_stop import turn_stop
from core.db import locked
from core.errors import Refusal
from core.ids import new_id
from schedules import lifecycle
from schedules.domain.gate import Decision
from schedules.domain.states import NEVER_RAN, UNFINISHED, RunKind, RunStatus
from schedules.models import Run, Schedule
from schedules.selectors.facts import destination_of, shared_for
from schedules.services.gating import manual_decision
from schedules.services.guards import owner_locked
from schedules.services.replacing import schedule_clear, turns_hold
from schedules.services.rows import new_turn

_BY_HAND = (RunKind.MANUAL, RunKind.API)


@dataclass(frozen=True)
class FiredBy:
    """A fire from outside: the token's public id (empty for a session), what it gave by name, and its body's digest."""

    token: str
    inputs: Mapping[str, str]
    digest: str = ""


def run_now(
    *, schedule: Schedule, actor: User, now: datetime, key: str | None = None, fired: FiredBy | None = None
) -> Run:
    """Open a run of `schedule` at this instant and hint the cluster; the same key again returns the same run.

    Never moves `next_run_at`, works on a paused, blocked or completed schedule (R7). What the gate refuses or skips
    leaves a row that neither counts nor blocks and raises Refusal with the reason as code; a wait raises Refusal
    `stopped_by_operator` or `account_deleting` and leaves nothing. Raises Refusal `permission_denied` without `create_schedules`,
    `not_found` for a schedule that is being deleted, and `already_running` with `run` under the overlap rule `skip`.
    A fire (`fired`) also raises `rate_limited` within `FIRE_SECONDS` of the token's last one, which leaves no row and
    uses up no key, and `idempotency_conflict` when its key came with other inputs.
    """
    kind = RunKind.API if fired else RunKind.MANUAL
    row_key = f"{kind}:{schedule.public_id}:{key or new_id('key')}"
    with transaction.atomic():
        owner_locked(schedule.owner_id)
        turns_hold(schedule)
        held = locked(Schedule.objects.filter(pk=schedule.pk, deleting_at=None).select_related("agent")).first()
        if held is None:
            raise Refusal("not_found")
        if again := Run.objects.filter(owner_id=held.owner_id, idempotency_key=row_key).first():
            _same(again, fired)
            run, decision = again, _answered(again)
        else:  # the key is looked up before policy is asked: what was accepted once is answered alike
            refuse_deleting(held.owner_id)
            _allow(actor)
            _not_too_often(held, fired, now)
            run, decision = _open(held, kind, row_key, fired, now)
    if decision is not None:
        raise _refusal(decision, held)
    if run.status == RunStatus.QUEUED:
        hint_drain()
    return run


def _allow(actor: User) -> None:
    if not may(actor, "create_schedules"):
        raise Refusal("permission_denied")
    stop = global_stop()
    if stop is not None:
        raise Refusal("stopped_by_operator", retry_after=60, reason=stop.reason)


def _answered(run: Run) -> Decision | None:
    """Return what the first request under this key was told: a refusal is repeated, a run is returned."""
    refused = run.status in NEVER_RAN and run.turn_id is None
    return Decision(run.status, run.reason, run.reason_params) if refused else None


def _same(run: Run, fired: FiredBy | None) -> None:
    if fired and fired.digest != run.request_digest:
        raise Refusal("idempotency_conflict")


def run_known(*, owner: User, schedule_id: str, kind: str, key: str | None, digest: str = "") -> None:
    """Look a key up before anything else of its request: a schedule that is gone by now, a body that is another one.

    Writes nothing. Raises Refusal `gone` when the run, or its schedule, was deleted less than 24 h ago, and
    `idempotency_conflict` when the key came with another body.
    """
    if key is None:
        return
    run = Run.objects.filter(owner=owner, idempotency_key=f"{kind}:{schedule_id}:{key}").first()
    if run is None:
        replay_find(owner=owner, act=f"{kind}:{schedule_id}", key=key, digest="")
    elif run.schedule is None or run.schedule.deleting_at is not None:
        raise Refusal("gone")
    elif digest != run.request_digest:
        raise Refusal("idempotency_conflict")


def run_keys_keep(schedule: Schedule, *, now: datetime) -> None:
    """Before its runs are erased: their keys answer `gone` for 24 h, so that no retry makes another one."""
    kept = []
    for key in Run.objects.filter(schedule=schedule, kind__in=_BY_HAND).values_list("idempotency_key", flat=True):
        kind, _, rest = key.partition(f":{schedule.public_id}:")
        if rest:
            act = f"{kind}:{schedule.public_id}"
            row = IdempotencyKey(owner_id=schedule.owner_id, act=act, key=rest, created_at=now, gone_at=now)
            kept.append(row)
    IdempotencyKey.objects.bulk_create(kept, ignore_conflicts=True, batch_size=500)


def _not_too_often(schedule: Schedule, fired: FiredBy | None, now: datetime) -> None:
    """A token starts one run in `FIRE_SECONDS`; a fire that the gate refused started none."""
    if fired is None or not fired.token:
        return
    since = now - timedelta(seconds=settings.FIRE_SECONDS)
    last = Run.objects.filter(
        schedule=schedule, kind=RunKind.API, fired_with=fired.token, opened_at__gt=since, turn__isnull=False
    ).aggregate(last=Max("opened_at"))["last"]
    if last is not None:
        seconds = math.ceil((last - since).total_seconds())
        raise Refusal("rate_limited", retry_after=seconds, seconds=seconds)


def _open(schedule: Schedule, kind: str, key: str, fired: FiredBy | None, now: datetime) -> tuple[Run, Decision | None]:
    shared = shared_for([schedule], now=now)
    decision = manual_decision(schedule, kind=kind, now=now)
    if decision.verdict == "wait":  # it came up meanwhile
        raise Refusal(decision.reason, retry_after=60, **decision.params)
    columns: dict[str, Any] = {
        "kind": kind,
        "scheduled_for": now,
        "due_at": now,
        "idempotency_key": key,
        "project_id": destination_of(schedule, shared)[0],
    }
    if fired:
        columns |= {"inputs": dict(fired.inputs), "fired_with": fired.token, "request_digest": fired.digest}
    if decision.verdict in ("go", "replace"):
        if decision.verdict == "replace":
            schedule_clear(schedule, now=now)
        turn = new_turn(schedule, owner_id=schedule.owner_id, agent=schedule.agent, run_at=now, serial=False, now=now)
        turn.save()
        run = lifecycle.opened(schedule, now=now, turn=turn, **columns)
        lifecycle.insert([run])
        return run, None
    run = lifecycle.opened(
        schedule, status=RunStatus(decision.verdict), reason=decision.reason, reason_params=dict(decision.params),
        now=now, **columns,
    )  # fmt: skip
    if decision.reason != "overlap":  # a double press is answered, not written down: nothing was due
        lifecycle.insert([run])
        lifecycle.show_last([run])
    return run, decision


def _refusal(decision: Decision, schedule: Schedule) -> Refusal:
    if decision.reason == "overlap":
        running = (
            Run.objects.filter(schedule=schedule, status__in=UNFINISHED, settled_at__isnull=True)
            .order_by("scheduled_for")
            .first()
        )
        return Refusal("already_running", run=running.public_id if running else "")
    return Refusal(decision.reason, status=409, **decision.params)


def run_stop(*, run: Run, actor: User, now: datetime) -> Run:
    """Stop a run: at once while it waits, within a second while it streams. An ended run is returned unchanged."""
    reason = "stopped_by_owner" if actor.pk == run.owner_id else "stopped_by_staff"
    if run.turn_id is not None and run.settled_at is None:
        turn_stop(turn_id=run.turn_id, reason=reason, now=now)
    run.refresh_from_db()
    return run
