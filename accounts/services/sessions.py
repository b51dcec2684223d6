"""Sign-ins that end before their time: one that its owner does not know, or all others."""

from __future__ import annotations

from datetime import datetime

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import HttpRequest

from accounts.models import User
from accounts.services.audit import audit
from core.errors import Refusal


def session_noted(request: HttpRequest) -> None:
    """List the session of a sign-in that came another way than through the sign-in page."""
    UserSession.objects.create_from_request(request)


def session_end(*, user: User, session_id: int, now: datetime) -> None:
    """Sign the person out where the session is. Raises Refusal `not_found` for one that is not theirs (P15)."""
    with transaction.atomic():
        row = UserSession.objects.filter(user=user, pk=session_id).first()
        if row is None:
            raise Refusal("not_found")
        _ended([row], user, now)


def sessions_end_others(*, user: User, keep: str | None, now: datetime) -> int:
    """Sign the person out everywhere but in the session `keep`; return in how many places."""
    with transaction.atomic():
        rows = list(UserSession.objects.filter(user=user).exclude(session_key=keep or ""))
        _ended(rows, user, now)
    return len(rows)


def second_factor_remove(*, user: User, actor: User, now: datetime) -> bool:
    """Take the second factor from somebody who lost it; return whether there was one. The password is then enough."""
    with transaction.atomic():
        held = Authenticator.objects.filter(user=user)
        kinds = sorted(held.values_list("type", flat=True))
        if not kinds:
            return False
        held.delete()
        audit(act="user.second_factor", actor=actor, subject=user, before={"factors": kinds}, now=now)
    return True


def _ended(rows: list[UserSession], user: User, now: datetime) -> None:
    if not rows:
        return
    Session.objects.filter(session_key__in=[row.session_key for row in rows]).delete()
    UserSession.objects.filter(pk__in=[row.pk for row in rows]).delete()
    audit(act="user.signed_out", actor=user, subject=user, after={"sessions": len(rows)}, now=now)
