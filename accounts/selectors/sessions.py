"""Where a person is signed in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session

from accounts.models import User

MOST_SESSIONS = 100
_BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
            ("Mac OS X", "macOS"), ("Linux", "Linux"))  # fmt: skip


@dataclass(frozen=True)
class SignedIn:
    """One browser that is signed in: its number, what it calls itself, from where, since when, and whether it asks."""

    id: int
    browser: str
    system: str
    ip: str
    since: datetime
    here: bool


def sessions_of(user: User, *, current: str | None, now: datetime) -> list[SignedIn]:
    """Return the sessions that still let the person in, the asking one (`current` is its key) first, then the newest."""
    rows = list(UserSession.objects.filter(user=user).order_by("-created_at", "-pk")[:MOST_SESSIONS])
    stored = Session.objects.filter(session_key__in=[row.session_key for row in rows], expire_date__gt=now)
    fresh = user.get_session_auth_hash()
    live = {row.session_key for row in stored if row.get_decoded().get(HASH_SESSION_KEY) == fresh}
    found = [_signed_in(row, current) for row in rows if row.session_key in live]
    return sorted(found, key=lambda session: not session.here)


def _signed_in(row: UserSession, current: str | None) -> SignedIn:
    browser = next((name for sign, name in _BROWSERS if sign in row.user_agent), "")
    system = next((name for sign, name in _SYSTEMS if sign in row.user_agent), "")
    return SignedIn(row.pk, browser, system, str(row.ip), row.created_at, row.session_key == current)
