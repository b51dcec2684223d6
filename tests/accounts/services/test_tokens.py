"""Tokens: named, hashed, shown once, scoped, revoked (accounts.md, Tokens)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import ApiToken
from accounts.services.tokens import token_create, token_revoke
from core.errors import Refusal
from tests.factories import NOW


def make(user: Any, **fields: Any) -> tuple[ApiToken, str]:
    return token_create(**{"user": user, "name": "CI", "scopes": ["runs:read"], "now": NOW, **fields})


def test_the_secret_is_stored_nowhere(alice: Any):
    token, secret = make(alice)
    stored = str(ApiToken.objects.filter(pk=token.pk).values().get())
    assert secret not in stored
    assert len(secret) >= 32
    assert secret.startswith(token.token_key)


def test_scopes_are_kept_once_each(alice: Any):
    token, _ = make(alice, scopes=["runs:read", "runs:write", "runs:read"])
    token.refresh_from_db()
    assert token.scopes == ["runs:read", "runs:write"]


@pytest.mark.parametrize(
    ("fields", "path", "code"),
    [
        ({"name": "  "}, "name", "required"),
        ({"name": "a\x00b"}, "name", "required"),
        ({"name": "x" * 101}, "name", "too_long"),
        ({"scopes": []}, "scopes", "required"),
        ({"scopes": ["runs:read", "root"]}, "scopes", "scope_unknown"),
        ({"scopes": ["fire:sch_1"]}, "scopes", "scope_unknown"),
        ({"expiry": NOW}, "expires_at", "out_of_range"),
    ],
)
def test_what_cannot_be_used_is_named(fields: dict[str, Any], path: str, code: str, alice: Any):
    with pytest.raises(Refusal) as caught:
        make(alice, **fields)
    assert [(error.path, error.code) for error in caught.value.fields] == [(path, code)]
    assert not ApiToken.objects.exists()


def test_a_revoked_token_is_gone_and_revoking_twice_is_as_once(alice: Any):
    token, _ = make(alice, expiry=NOW + timedelta(days=1))
    token_revoke(token=token, now=NOW)
    token_revoke(token=token, now=NOW)
    assert not ApiToken.objects.exists()
