"""Clients of the API: with a session, or with a token and its scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from accounts.services.tokens import token_create


@pytest.fixture
def client_of() -> Callable[[User], APIClient]:
    """Return a client signed in by session."""

    def make(user: User) -> APIClient:
        client = APIClient(raise_request_exception=True)
        client.force_login(user)
        return client

    return make


@pytest.fixture
def api(client_of: Callable[[User], APIClient], alice: User) -> APIClient:
    """Alice's session."""
    return client_of(alice)


@pytest.fixture
def token_client(now: datetime) -> Callable[[User, Iterable[str]], APIClient]:
    """Return a client with a token of `scopes`."""

    def make(user: User, scopes: Iterable[str]) -> APIClient:
        _, secret = token_create(user=user, name="Script", scopes=list(scopes), now=now)
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return client

    return make
