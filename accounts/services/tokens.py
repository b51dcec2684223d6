"""API tokens: made once, shown once, revoked by deleting them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import transaction
from knox.models import get_digest_token
from knox.settings import CONSTANTS

from accounts.domain.scopes import fire_scope, fired, known
from accounts.models import ApiToken, User
from accounts.selectors.deletions import owner_free
from accounts.services.audit import audit
from accounts.services.idempotency import made_gone
from core.errors import FieldError, Refusal
from core.registry import has_to_fire
from core.text import graphemes, has_nul, tidy

MOST_TOKENS = 200


def token_create(
    *,
    user: User,
    name: str,
    scopes: Collection[str],
    expiry: datetime | None = None,
    actor: User | None = None,
    now: datetime,
) -> tuple[ApiToken, str]:
    """Make a token and return it with its secret, which is stored nowhere (knox keeps a digest).

    `actor` is who makes it: the person themself, or nobody on the command line.

    Raises Refusal with the fields that cannot be used: `required`, `too_long`, `scope_unknown`, `out_of_range`.
    """
    name = tidy(name)
    errors = _errors(user, name, scopes, expiry, now)
    if errors:
        raise Refusal.of(errors)
    digest, secret = get_digest_token()
    token = ApiToken(
        digest=digest,
        token_key=secret[: CONSTANTS.TOKEN_KEY_LENGTH],
        user=user,
        expiry=expiry,
        name=name,
        scopes=sorted(set(scopes)),
    )
    with transaction.atomic():
        owner_free(user.pk)
        token.save(force_insert=True)
        audit(act="apitoken.added", actor=actor, subject=token, after=_shown(token), now=now)
    return token, secret


def token_revoke(*, token: ApiToken, actor: User | None = None, now: datetime) -> None:
    """End a token at once. Revoking one that is gone already changes nothing."""
    with transaction.atomic():
        if ApiToken.objects.filter(pk=token.pk).delete()[0]:
            audit(act="apitoken.removed", actor=actor, subject=token, before=_shown(token), now=now)
        made_gone(made=[token.public_id], now=now)


def _errors(user: User, name: str, scopes: Collection[str], expiry: datetime | None, now: datetime) -> list[FieldError]:
    errors = [
        FieldError("scopes", "scope_unknown", {"scope": str(scope)})
        for scope in scopes
        if not known(str(scope)) or (fire_scope(str(scope)) and not has_to_fire(user, fired(str(scope))))
    ]
    if not scopes:
        errors.append(FieldError("scopes", "required"))
    if not name or has_nul(name):
        errors.append(FieldError("name", "required"))
    elif len(name) > 100:
        errors.append(FieldError("name", "too_long", {"actual": graphemes(name), "most": 100}))
    if expiry is not None and expiry <= now:
        errors.append(FieldError("expires_at", "out_of_range", {"least": "now", "most": "never"}))
    if user.auth_token_set.count() >= MOST_TOKENS:
        errors.append(FieldError("name", "out_of_range", {"least": 0, "most": f"{MOST_TOKENS} tokens"}))
    return errors


def _shown(token: ApiToken) -> dict[str, Any]:
    """Return what may be said of a token: never its name, nor which schedule it fires."""
    scopes = sorted({"fire" if fire_scope(scope) else scope for scope in token.scopes})
    return {"scopes": scopes, "expires_at": token.expiry}
