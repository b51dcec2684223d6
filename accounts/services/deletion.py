"""Ask for the deletion of an account, call it off, hasten it. The overlay is up from the first instant on."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction

from accounts import lifecycle
from accounts.domain.deletion import DeletionState
from accounts.models import DeletionRequest, User
from accounts.selectors.deletions import deletion_of, fenced_owners
from accounts.services.audit import audit
from accounts.services.notices import notice_add, operators_tell
from core.db import locked, serialised
from core.errors import Refusal
from core.points import reached
from core.registry import account_works

logger = logging.getLogger(__name__)
AWAY = (OperationalError, InterfaceError)  # the database failed, not the deletion: it is tried again
_DELETIONS = 0x51754F44


def proof_check(*, user: User, password: str = "", code: str = "") -> None:
    """Raise Refusal `proof_wrong` unless the password, or a code of the second factor, is the person's."""
    if code and not password:
        if not _code_right(user, code.strip()):
            raise Refusal.at("code", "proof_wrong")
    elif not password:
        raise Refusal.at("password", "required")
    elif not user.check_password(password):
        raise Refusal.at("password", "proof_wrong")


def deletion_request(
    *,
    user: User,
    actor: User | None,
    grace: timedelta | None = None,
    keep_usage: bool = False,
    even_last: bool = False,
    now: datetime,
) -> DeletionRequest:
    """Open the deletion of `user` and stop what runs; a second request while one is open adopts it (A3).

    `grace` is the setting's unless given. Nothing else is changed: queued runs stay queued, schedules as they are
    (A1, A2). Raises Refusal `last_operator` when nobody would be left to operate, unless `even_last`. What fails
    while it is opened leaves a cancelled request with the error, and operators are told.
    """
    wait = timedelta(days=settings.DELETION_GRACE_DAYS) if grace is None else grace
    try:
        with serialised(_DELETIONS):
            locked(User.objects.filter(pk=user.pk)).get()
            request = deletion_of(user.pk)
            if request is not None:
                _adopt(request, keep_usage, actor, now)
                return request
            if not even_last:
                _refuse_last(user)
            request = lifecycle.opened(user_id=user.pk, now=now, not_before=now + wait, keep_usage=keep_usage)
            reached("deletion_opening", [request])
            for work in account_works().values():
                work.suspend(user.pk, now=now)
            _noted("deletion.requested", request, actor, now)
            reached("deletion_suspended", [request])
    except (Refusal, *AWAY):
        raise
    except Exception as error:
        _failed_at_once(user, error, now)
        raise
    reached("deletion_opened", [request])
    return request


def deletion_cancel(*, user: User, actor: User | None, now: datetime) -> DeletionRequest:
    """Lift the overlay: everything is as before, apart from turns that were stopped (A2).

    What fell due and what was queued meanwhile follows the misfire policy (R38). Raises Refusal `deletion_missing` without an
    open request, `deletion_committed` beyond the commit point.
    """
    with transaction.atomic():
        locked(User.objects.filter(pk=user.pk)).first()
        request = _open(user)
        if not lifecycle.move(request, DeletionState.CANCELLED, now=now):
            raise Refusal("deletion_committed")
        _noted("deletion.cancelled", request, actor, now)
        reached("deletion_cancelling", [request])
    reached("deletion_cancelled", [request])
    return request


def deletion_hasten(*, user: User, actor: User | None, now: datetime) -> DeletionRequest:
    """End the grace now; the sweep erases next. Raises Refusal `deletion_missing` without an open request."""
    with transaction.atomic():
        locked(User.objects.filter(pk=user.pk)).first()
        request = _open(user)
        if request.not_before > now:
            lifecycle.note(request, not_before=now)
            _noted("deletion.hastened", request, actor, now)
    return request


def deletion_fail(*, request: DeletionRequest, error: Exception, now: datetime) -> bool:
    """Call off what failed before its commit point: everything is restored, the person and operators are told."""
    why = type(error).__name__  # its text may quote the person's
    with transaction.atomic():
        if request.user_id is None or not lifecycle.move(request, DeletionState.CANCELLED, now=now, error=why):
            return False
        _tell_failed(request, request.user_id, now)
        _noted("deletion.failed", request, None, now)
    return True


def _failed_at_once(user: User, error: Exception, now: datetime) -> None:
    logger.exception("the deletion of account %s could not be opened", user.pk)
    with transaction.atomic():
        request = lifecycle.failed(user_id=user.pk, now=now, error=type(error).__name__)
        _tell_failed(request, user.pk, now)


def _tell_failed(request: DeletionRequest, user_id: int, now: datetime) -> None:
    """Name nobody: what operators were told stays when a later deletion goes through (A6)."""
    key, params = f"deletion:{request.token}", {"why": request.error}
    operators_tell(code="deletion_failed", params=params, subject=request.token, dedupe_key=key, now=now)
    notice_add(
        user_id=user_id, code="deletion_failed", params=params, subject=request.token, dedupe_key=key, now=now
    )  # fmt: skip


def _adopt(request: DeletionRequest, keep_usage: bool, actor: User | None, now: datetime) -> None:
    if keep_usage and not request.keep_usage:
        lifecycle.note(request, keep_usage=True)
        _noted("deletion.changed", request, actor, now)


def _open(user: User) -> DeletionRequest:
    request = deletion_of(user.pk)
    if request is None:
        raise Refusal("deletion_missing")
    return request


def _noted(act: str, request: DeletionRequest, actor: User | None, now: datetime) -> None:
    after = {"state": request.state, "not_before": request.not_before, "keep_usage": request.keep_usage}
    audit(act=act, actor=actor, subject=request, after=after, now=now)


def _refuse_last(user: User) -> None:
    operators = User.objects.filter(is_active=True, is_staff=True, is_superuser=True)
    if not operators.filter(pk=user.pk).exists():
        return
    if not operators.exclude(pk__in=[*fenced_owners(), user.pk]).exists():
        raise Refusal("last_operator")


def _code_right(user: User, code: str) -> bool:
    for row in Authenticator.objects.filter(user=user):
        if row.type == Authenticator.Type.TOTP and TOTP(row).validate_code(code):
            return True
        if row.type == Authenticator.Type.RECOVERY_CODES and RecoveryCodes(row).validate_code(code):
            return True
    return False
