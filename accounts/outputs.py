"""Plain dictionaries as wire.md names them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from accounts.models import ApiToken, User
from core.wire import instant

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
