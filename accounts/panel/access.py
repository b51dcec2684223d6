"""`/settings/access/`: password, second factor, tokens and sign-ins, each with the act that takes it back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from allauth.mfa.utils import is_mfa_enabled
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from accounts.domain.scopes import SCOPES
from accounts.models import ApiToken, User
from accounts.panel.forms import errors_of
from accounts.selectors.audit import may_read_audit
from accounts.selectors.sessions import SignedIn, sessions_of
from accounts.selectors.tokens import token_find, tokens_of
from accounts.services.sessions import session_end, sessions_end_others
from accounts.services.tokens import MOST_TOKENS, token_create, token_revoke
from core.errors import Refusal
from core.human import Reader, Stamp
from core.panel import done, face, reader_of

_DAYS = ("30", "90", "365", "")


@face
@require_safe
def access(request: HttpRequest) -> HttpResponse:
    """Show what lets somebody in as this person."""
    return _page(request, {"days": "90", "scopes": ["schedules:read", "runs:read"]})


@face
@require_POST
@sensitive_variables("secret")
def token_make(request: HttpRequest) -> HttpResponse:
    """Make a token and show its secret, in this answer alone."""
    user, now = cast(User, request.user), reader_of(request).now
    typed = {
        "name": request.POST.get("name", ""),
        "fire": request.POST.get("fire", "").strip(),
        "days": request.POST.get("days", ""),
        "scopes": [scope for scope in request.POST.getlist("scopes") if scope in SCOPES],
    }
    try:
        token, secret = token_create(user=user, actor=user, now=now, **_asked(typed, now))
    except Refusal as refusal:
        return _page(request, typed, refusal=refusal)
    return _page(request, {"days": "90", "scopes": []}, made=token, secret=secret)


@face
@require_POST
def token_end(request: HttpRequest, public_id: str) -> HttpResponse:
    """Revoke a token."""
    user, now = cast(User, request.user), reader_of(request).now
    token = token_find(user, public_id)
    if token is None:
        raise Refusal("not_found")
    token_revoke(token=token, actor=user, now=now)
    text = _("“%(name)s” is revoked. Whatever uses it is refused from now on.") % {"name": token.name}
    return done(request, to=reverse("accounts:access"), text=text, leave=True)


@face
@require_POST
def sign_in_end(request: HttpRequest, session_id: int) -> HttpResponse:
    """Sign out where a session is."""
    session_end(user=cast(User, request.user), session_id=session_id, now=reader_of(request).now)
    return done(request, to=reverse("accounts:access"), text=_("You are signed out there."), leave=True)


@face
@require_POST
def sign_ins_end(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere but here."""
    key, now = request.session.session_key, reader_of(request).now
    count = sessions_end_others(user=cast(User, request.user), keep=key, now=now)
    text = ngettext("You are signed out in %(n)s other place.", "You are signed out in %(n)s other places.", count)
    return done(request, to=reverse("accounts:access"), text=text % {"n": count}, leave=True)


def _asked(typed: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return what was typed as the service takes it. Raises Refusal for a time that was not offered."""
    if typed["days"] not in _DAYS:
        raise Refusal.at("days", "choice_unknown", choices="30, 90, 365")
    expiry = now + timedelta(days=int(typed["days"])) if typed["days"] else None
    scopes = [f"fire:{typed['fire']}"] if typed["fire"] else typed["scopes"]
    return {"name": typed["name"], "scopes": scopes, "expiry": expiry}


def _page(
    request: HttpRequest,
    typed: dict[str, Any],
    *,
    refusal: Refusal | None = None,
    made: ApiToken | None = None,
    secret: str = "",
) -> HttpResponse:
    user, reader = cast(User, request.user), reader_of(request)
    sessions = sessions_of(user, current=request.session.session_key, now=reader.now)
    tokens = tokens_of(user).order_by("-created", "public_id")[:MOST_TOKENS]
    context = {
        "v": typed,
        "errors": errors_of(refusal),
        "made": made,
        "secret": secret,
        "tokens": [_token_row(token, reader) for token in tokens],
        "sessions": [_session_row(session, reader) for session in sessions],
        "others": sum(not session.here for session in sessions),
        "scopes": [(scope, text) for scope, text in _scopes() if scope != "audit:read" or may_read_audit(user)],
        "lasts": [("30", _("30 days")), ("90", _("90 days")), ("365", _("A year")), ("", _("Until it is revoked"))],
        "second_factor": is_mfa_enabled(user),
        "here": "settings",
    }
    return render(request, "accounts/access.html", context, status=refusal.status if refusal else 200)


def _scopes() -> list[tuple[str, str]]:
    return [
        ("schedules:read", _("Read schedules")),
        ("schedules:write", _("Change schedules")),
        ("runs:read", _("Read runs")),
        ("runs:write", _("Start and stop runs")),
        ("conversations:read", _("Read conversations")),
        ("conversations:write", _("Write in conversations")),
        ("audit:read", _("Read the audit log")),
    ]


def _stamp(instant: datetime | None, reader: Reader) -> Stamp | None:
    return reader.stamp(instant) if instant else None


def _token_row(token: ApiToken, reader: Reader) -> dict[str, Any]:
    return {
        "id": token.public_id,
        "name": token.name,
        "scopes": ", ".join(token.scopes),
        "made": reader.stamp(token.created),
        "expires": _stamp(token.expiry, reader),
        "expired": token.expiry is not None and token.expiry <= reader.now,
        "used": _stamp(token.last_used_at, reader),
    }


def _session_row(session: SignedIn, reader: Reader) -> dict[str, Any]:
    named = {"browser": session.browser or _("A browser"), "system": session.system}
    return {
        "id": session.id,
        "name": _("%(browser)s on %(system)s") % named if session.system else named["browser"],
        "ip": session.ip,
        "since": reader.stamp(session.since),
        "here": session.here,
    }
