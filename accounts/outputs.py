"""Plain dictionaries as wire.md names them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.http import HttpResponse

from accounts.models import ApiToken, AuditEntry, DeletionRequest, User
from core.wire import instant, pretty

Json = dict[str, Any]


def me_out(user: User, permissions: Collection[str]) -> Json:
    """Return the wire shape of the one who asks; `permissions` are the codenames held."""
    return {
        "id": user.public_id,
        "email": user.email,
        "display_name": user.display_name,
        "zone": user.zone,
        "locale": user.locale,
        "clock": user.clock,
        "first_weekday": user.first_weekday,
        "operator": user.is_staff,
        "permissions": sorted(permissions),
    }


def token_out(token: ApiToken, *, now: datetime, secret: str | None = None) -> Json:
    """Return the wire shape of a token; `secret` is shown once, right after it was made."""
    shown: Json = {
        "id": token.public_id,
        "name": token.name,
        "scopes": token.scopes,
        "created_at": instant(token.created),
        "expires_at": instant(token.expiry),
        "expired": token.expiry is not None and token.expiry <= now,
        "last_used_at": instant(token.last_used_at),
    }
    return shown | {"token": secret} if secret is not None else shown


def deletion_out(request: DeletionRequest | None, goes: Mapping[str, int]) -> Json:
    """Return the wire shape of an account's deletion, null in place of the state without one; `goes` counts by name."""
    return {
        "state": request.state if request else None,
        "requested_at": instant(request.requested_at) if request else None,
        "not_before": instant(request.not_before) if request else None,
        "goes": dict(goes),
    }


def export_answer(content: bytes, now: datetime) -> HttpResponse:
    """Return a person's zip as a download."""
    named = f'attachment; filename="quotidian-{now:%Y-%m-%d}.zip"'
    return HttpResponse(content, content_type="application/zip", headers={"Content-Disposition": named})


def account_export(user: User) -> Iterator[tuple[str, str]]:
    """Yield the account as a file of its own, for `core.registry.register_exporter`; no secret is in it."""
    shown = {
        name: getattr(user, name) for name in ("email", "display_name", "zone", "locale", "clock", "first_weekday")
    }
    tokens = ApiToken.objects.filter(user=user).order_by("created")
    listed = [{"name": t.name, "scopes": t.scopes, "created_at": instant(t.created)} for t in tokens]
    yield "account.json", pretty({"id": user.public_id, **shown, "tokens": listed})


def audit_out(entry: AuditEntry, people: Mapping[str, User]) -> Json:
    """Return the wire shape of an entry; `people` are those of its keys who are still there."""
    of = getattr(entry, "of", None)
    return {
        "id": entry.public_id,
        "at": instant(entry.at),
        "act": entry.act,
        "who": _person_out(entry.who, people),
        "source": entry.source,
        "request_id": entry.request_id,
        "kind": entry.kind,
        "subject": of.public_id if of else entry.subject or None,
        "whom": _person_out(entry.whom, people),
        "before": entry.before,
        "after": entry.after,
    }


def _person_out(key: str, people: Mapping[str, User]) -> Json | None:
    return {"key": key, "email": people[key].email if key in people else None} if key else None
