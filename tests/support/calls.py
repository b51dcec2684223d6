"""How tests speak to the API: with a token of given scopes, or with a session."""

from __future__ import annotations

from typing import Any

from rest_framework.test import APIClient

from accounts.domain.scopes import SCOPES
from accounts.models import ApiToken, User
from accounts.services.tokens import token_create
from tests import factories


def caller(user: User, *scopes: str) -> APIClient:
    """Return a client that sends a token of `user`, with every scope unless some are named, reserved ones too."""
    token, secret = token_create(user=user, name="Test", scopes=SCOPES, now=factories.NOW)
    if scopes:
        ApiToken.objects.filter(pk=token.pk).update(scopes=list(scopes))
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def browser(user: User, **options: Any) -> APIClient:
    """Return a client with a session of `user`; `enforce_csrf_checks=True` behaves as a browser must."""
    client = APIClient(**options)
    client.force_login(user)
    return client


def code_of(response: Any) -> str:
    """Return the code of a problem document, asserting that it is one."""
    assert response["Content-Type"] == "application/problem+json", response.content
    body = response.json()
    assert set(body) == {"type", "title", "status", "code", "detail", "fields", "params"}
    assert body["status"] == response.status_code
    return str(body["code"])


def field_codes(response: Any) -> dict[str, list[str]]:
    """Return the codes at each field of a problem document."""
    code_of(response)
    return {path: [error["code"] for error in errors] for path, errors in response.json()["fields"].items()}
