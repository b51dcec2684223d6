"""Carries deletions on, a bounded step at a time: quiesce, commit, erase, done. A crash between two steps loses nothing."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction

from accounts import lifecycle
from accounts.domain.deletion import ENDED, DeletionState
from accounts.models import DeletionRequest, User
from accounts.selectors.deletions import deletions_due
from accounts.services.audit import audit
from accounts.services.deletion import deletion_fail, deletion_request
from core.db import forget_traces, locked
from core.points import reached
from core.registry import Leaving, account_works, erasers

logger = logging.getLogger(__name__)
AWAY = (OperationalError, InterfaceError)
MOST_AT_ONCE = 20  # requests looked at in one sweep
BATCH = 200  # rows erased in one transaction
BATCHES = 10  # of one request in one sweep: the clock has more to do


def deletions_sweep(*, now: datetime) -> int:
    """Carry on what is due, least recently examined first; return how many requests moved.

    One that fails keeps none of the others waiting (R29).
    """
    moved = 0
    for pk in deletions_due(now=now, most=MOST_AT_ONCE):
        try:
            moved += deletion_advance(request_id=pk, now=now)
        except Exception:
            logger.exception("deletion %d could not be carried on", pk)
    return moved


def deletion_advance(*, request_id: int, now: datetime) -> bool:
    """Do the next step of one request, if it is due; return whether anything moved.

    What fails before the commit point is called off (`deletion_fail`); beyond it the error is noted and the same step
    comes again. A database that is away is nobody's failure: the step comes again.
    """
    request = DeletionRequest.objects.filter(pk=request_id).exclude(state__in=ENDED).first()
    if request is None:
        return False
    lifecycle.note(request, examined_at=now)
    try:
        if request.state == DeletionState.REQUESTED:
            return request.not_before <= now and _quiesce(request, now)
        if request.state == DeletionState.QUIESCING:
            return _commit(request, now)
        return _erase(request, now)
    except AWAY:
        raise
    except Exception as error:
        logger.exception("a step of deletion %s failed", request.token)
        if request.state != DeletionState.ERASING:
            return deletion_fail(request=request, error=error, now=now)
        lifecycle.note(request, error=type(error).__name__)
        return False


def deletion_retry(*, request: DeletionRequest, actor: User, now: datetime) -> bool:
    """Do the next step now, or ask anew for one that had failed before its commit point; return whether anything moved."""
    if request.state in ENDED:
        if request.user is None or not request.error:
            return False
        deletion_request(user=request.user, actor=actor, keep_usage=request.keep_usage, now=now)
        return True
    moved = deletion_advance(request_id=request.pk, now=now)
    if moved:
        audit(act="deletion.retried", actor=actor, subject=request, now=now)
    return moved


def _held(request: DeletionRequest, state: str) -> DeletionRequest | None:
    """Return the request, locked after its person, or None when it is elsewhere by now or another sweep works on it."""
    if request.user_id is not None:
        list(locked(User.objects.filter(pk=request.user_id)).only("pk"))
    return locked(DeletionRequest.objects.filter(pk=request.pk, state=state), skip_locked=True).first()


def _quiesce(request: DeletionRequest, now: datetime) -> bool:
    with transaction.atomic():
        held = _held(request, DeletionState.REQUESTED)
        if held is None:
            return False
        lifecycle.move(held, DeletionState.QUIESCING, now=now)
        reached("deletion_quiescing", [held])
    reached("deletion_quiesced", [held])
    return True


def _commit(request: DeletionRequest, now: datetime) -> bool:
    """Pass the commit point once no worker holds anything of the person: from here there is only forward."""
    with transaction.atomic():
        held = _held(request, DeletionState.QUIESCING)
        if held is None or held.user_id is None:
            return False
        works = account_works()
        waits = {name: n for name, work in works.items() if (n := work.working(held.user_id, now=now))}
        if waits:
            for work in works.values():
                work.suspend(held.user_id, now=now)
            lifecycle.note(held, progress={"waits": waits})
            return False
        lifecycle.move(held, DeletionState.ERASING, now=now, progress={}, error="")
        User.objects.filter(pk=held.user_id).update(is_active=False)
        reached("deletion_committing", [held])
    reached("deletion_committed", [held])
    return True


def _erase(request: DeletionRequest, now: datetime) -> bool:
    for _ in range(BATCHES):
        left = _erase_batch(request, now)
        if left is None:
            return False
        if not left:
            return _finish(request, now)
    return True


def _erase_batch(request: DeletionRequest, now: datetime) -> bool | None:
    """Erase one batch of one table, or the user row when nothing else is left.

    Return whether something may be left; None when another sweep works on it.
    """
    with transaction.atomic():
        held = _held(request, DeletionState.ERASING)
        if held is None:
            return None
        if held.user_id is None:
            return False
        table = _erase_rows(held, now)
        if not table:
            User.objects.filter(pk=held.user_id).delete()
            table = "accounts.User"
        reached("deletion_erasing", [table])
    reached("deletion_erased", [table])
    return True


def _erase_rows(held: DeletionRequest, now: datetime) -> str:
    """Erase a batch of the first table that still has rows; return its name, empty when none has."""
    leaving = Leaving(held.user_id or 0, keep_usage=held.keep_usage)
    for table, erase in erasers():
        count = erase(leaving, most=BATCH, now=now)
        if count:
            erased = held.progress.get("erased", {})
            erased[table] = erased.get(table, 0) + count
            lifecycle.note(held, progress={"erased": erased}, error="")
            return table
    return ""


def _finish(request: DeletionRequest, now: datetime) -> bool:
    """The user row is gone: clear what the database file still holds of it, and only then say done (A6)."""
    if not forget_traces():
        return False
    reached("deletion_cleared", [request])
    with transaction.atomic():
        held = locked(DeletionRequest.objects.filter(pk=request.pk, state=DeletionState.ERASING)).first()
        if held is None:
            return False
        lifecycle.move(held, DeletionState.DONE, now=now, error="")
        audit(act="deletion.done", actor=None, subject=held, after={"state": held.state}, now=now)
        reached("deletion_finishing", [held])
    reached("deletion_done", [held])
    return True
