"""Erases what an account holds of somebody who leaves: sign-ins, tokens, notices, limits, the name in the audit log."""

from __future__ import annotations

from datetime import datetime

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.admin.models import LogEntry
from django.contrib.auth import SESSION_KEY
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db.models import Q

from accounts.domain.deletion import DeletionState
from accounts.models import (
    ApiToken,
    AuditSubject,
    CreditEntry,
    DeletionRequest,
    GlobalStop,
    IdempotencyKey,
    LimitSet,
    Notice,
    PersonKey,
    UsageEntry,
    User,
)
from core.erasing import batch_of, rows_of
from core.registry import Eraser, Leaving


def sessions_erase(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Erase sessions that are the person's, which only their content says: it holds the e-mail too."""
    mine = []
    for session in Session.objects.order_by("pk").iterator(chunk_size=500):
        if session.get_decoded().get(SESSION_KEY) == str(leaving.user_id):
            mine.append(session.pk)
            if len(mine) == most:
                break
    return Session.objects.filter(pk__in=mine).delete()[0] if mine else 0


def sign_ins_erase(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Erase the list of sign-ins with the sessions that it names."""
    ids = batch_of(UserSession, most, user=leaving.user_id)
    rows = UserSession.objects.filter(pk__in=ids)
    Session.objects.filter(session_key__in=list(rows.values_list("session_key", flat=True))).delete()
    rows.delete()
    return len(ids)


def admin_log_erase(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Erase rows of Django's own admin log, by the person and about them: older versions wrote names into it."""
    about = Q(content_type=ContentType.objects.get_for_model(User), object_id=str(leaving.user_id))
    rows = LogEntry.objects.filter(Q(user=leaving.user_id) | about).order_by("pk")
    ids = list(rows.values_list("pk", flat=True)[:most])
    LogEntry.objects.filter(pk__in=ids).delete()
    return len(ids)


def stop_forget(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Forget who switched the global stop; the switch stays as it is, and its words are the operators'."""
    return GlobalStop.objects.filter(changed_by=leaving.user_id).update(changed_by=None)


def deletions_erase(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Erase earlier requests that were called off; the one in force stays, without the person."""
    ids = batch_of(DeletionRequest, most, user=leaving.user_id, state=DeletionState.CANCELLED)
    DeletionRequest.objects.filter(pk__in=ids).delete()
    return len(ids)


def usage_erase(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Erase the person's usage; where figures are kept they stay with day, model and amounts, and name nobody."""
    ids = batch_of(UsageEntry, most, owner=leaving.user_id)
    rows = UsageEntry.objects.filter(pk__in=ids)
    if leaving.keep_usage:
        return rows.update(owner=None, key=None, turn="", schedule="", agent="")
    rows.delete()
    return len(ids)


ERASERS: dict[str, Eraser] = {
    "sessions.Session": sessions_erase,
    "accounts.DeletionRequest": deletions_erase,
    "accounts.PersonKey": rows_of(PersonKey, "user"),
    "accounts.AuditSubject": rows_of(AuditSubject, "person__user"),
    "accounts.LimitSet": rows_of(LimitSet, "user"),
    "accounts.CreditEntry": rows_of(CreditEntry, "owner"),
    "accounts.UsageEntry": usage_erase,
    "accounts.GlobalStop": stop_forget,
    "accounts.IdempotencyKey": rows_of(IdempotencyKey, "owner"),
    "accounts.Notice": rows_of(Notice, "user"),
    "admin.LogEntry": admin_log_erase,
    "account.EmailAddress": rows_of(EmailAddress, "user"),
    "account.EmailConfirmation": rows_of(EmailConfirmation, "email_address__user"),
    "mfa.Authenticator": rows_of(Authenticator, "user"),
    "usersessions.UserSession": sign_ins_erase,
    "accounts.ApiToken": rows_of(ApiToken, "user"),
}
"""By table, what is pointed to first: it is erased last."""
