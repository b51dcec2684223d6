"""Tokens and sessions at the door (accounts.md, Tokens; wire.md, Authentication)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import ApiToken
from accounts.services.tokens import token_create
from core.clock import now as clock_now
from tests.support.calls import browser, caller, code_of


def with_header(value: str | bytes) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=value)
    return client


def make(user: Any, **fields: Any) -> tuple[ApiToken, str]:
    return token_create(**{"user": user, "name": "CI", "scopes": ["runs:read"], "now": clock_now(), **fields})


def test_a_token_says_who_is_asking(alice: Any):
    assert caller(alice).get("/api/v1/me").json()["email"] == "alice@example.com"
    assert browser(alice).get("/api/v1/me").json()["email"] == "alice@example.com"


@pytest.mark.parametrize(
    "value", ["Bearer", "Bearer a b", "Bearer nothing", "Bearer " + "f" * 64, b"Bearer \xff\xfe", "Bearer " + "é" * 20]
)
def test_another_token_is_refused_in_words(value: str | bytes, db: None):
    answer = with_header(value).get("/api/v1/me")
    assert (answer.status_code, code_of(answer)) == (401, "token_invalid")
    assert answer["WWW-Authenticate"] == 'Bearer realm="quotidian"'


def test_another_kind_of_credential_is_no_sign_in(db: None):
    assert code_of(with_header("Basic YTpi").get("/api/v1/me")) == "not_signed_in"


def test_a_token_whose_time_is_over_opens_nothing_and_stays_listed(alice: Any):
    token, secret = make(alice, expiry=clock_now() + timedelta(hours=1))
    assert with_header(f"Bearer {secret}").get("/api/v1/me").status_code == 200
    ApiToken.objects.filter(pk=token.pk).update(expiry=clock_now() - timedelta(seconds=1))
    assert code_of(with_header(f"Bearer {secret}").get("/api/v1/me")) == "token_invalid"
    listed = browser(alice).get("/api/v1/tokens").json()["results"]
    assert [shown["expired"] for shown in listed] == [True]


def test_a_revoked_token_opens_nothing(alice: Any):
    token, secret = make(alice)
    browser(alice).delete(f"/api/v1/tokens/{token.public_id}")
    assert code_of(with_header(f"Bearer {secret}").get("/api/v1/me")) == "token_invalid"


def test_the_token_of_somebody_inactive_opens_nothing(alice: Any):
    client = caller(alice)
    alice.is_active = False
    alice.save()
    assert code_of(client.get("/api/v1/me")) == "token_invalid"


def test_the_last_use_is_noted_once_a_minute_at_most(alice: Any, django_assert_num_queries: Any):
    token, secret = make(alice)
    client = with_header(f"Bearer {secret}")
    client.get("/api/v1/me")
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    client.get("/api/v1/me")
    token.refresh_from_db()
    assert token.last_used_at == first
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=first - timedelta(minutes=2))
    client.get("/api/v1/me")
    token.refresh_from_db()
    assert token.last_used_at is not None and token.last_used_at >= first


def test_a_state_change_by_session_needs_its_csrf_token(alice: Any):
    """B85"""
    client = browser(alice, enforce_csrf_checks=True)
    answer = client.post("/api/v1/projects", {"name": "a"}, format="json")
    assert (answer.status_code, code_of(answer)) == (403, "csrf_failed")
    assert client.get("/api/v1/projects").status_code == 200


def test_a_token_needs_no_csrf_token(alice: Any):
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {make(alice, scopes=['conversations:write'])[1]}")
    assert client.post("/api/v1/projects", {"name": "a"}, format="json").status_code == 201


def test_what_a_token_lacks_is_named(alice: Any):
    answer = caller(alice, "schedules:read").get("/api/v1/conversations")
    assert (answer.status_code, code_of(answer)) == (403, "scope_missing")
    assert answer.json()["params"] == {"scope": "conversations:read"}


def test_too_many_requests_are_answered_429_with_the_time_to_wait(alice: Any, bob: Any, settings: Any):
    settings.API_REQUESTS_PER_MINUTE = 3
    client = caller(alice)
    answers = [client.get("/api/v1/me") for _ in range(8)]
    refused = answers[-1]
    assert answers[0].status_code == 200
    assert code_of(refused) == "rate_limited"
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert refused.json()["params"]["seconds"] == int(refused["Retry-After"])
    assert caller(bob).get("/api/v1/me").status_code == 200
