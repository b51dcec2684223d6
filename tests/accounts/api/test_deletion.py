"""`/api/v1/me/deletion` and `/api/v1/me/export`."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from accounts.models import DeletionRequest
from accounts.services.deletion import deletion_request
from accounts.services.tokens import token_create
from tests.factories import NOW, PASSWORD
from tests.support.calls import browser

PATH = "/api/v1/me/deletion"


@pytest.fixture
def client(alice: Any) -> APIClient:
    cache.clear()
    return browser(alice)


def bearer(user: Any, *scopes: str) -> APIClient:
    _, secret = token_create(user=user, name="CI", scopes=list(scopes), now=NOW)
    return APIClient(headers={"authorization": f"Bearer {secret}"})


def test_it_is_asked_for_read_hastened_and_called_off(client: APIClient):
    none = client.get(PATH).json()
    assert (none["state"], none["not_before"], none["goes"]["schedules"]) == (None, None, 0)
    asked = client.post(PATH, {"password": PASSWORD}, format="json")
    assert (asked.status_code, asked.json()["state"]) == (202, "requested")
    assert client.post(PATH, {"password": PASSWORD}, format="json").json()["not_before"] == asked.json()["not_before"]
    hastened = client.post(f"{PATH}/hasten", {"password": PASSWORD}, format="json")
    assert hastened.json()["not_before"] < asked.json()["not_before"]
    assert client.delete(PATH).json()["state"] is None
    assert client.delete(PATH).json()["code"] == "deletion_missing"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "required"),
        ({"password": "wrong horse battery"}, "proof_wrong"),
        ({"code": "000000"}, "proof_wrong"),
        ({"password": PASSWORD, "grace": 0}, "unknown_field"),
    ],
)
def test_without_proof_nothing_happens(client: APIClient, body: dict[str, Any], code: str):
    answer = client.post(PATH, body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not DeletionRequest.objects.exists()


def test_guessing_is_slow(client: APIClient):
    codes = [client.post(PATH, {"password": "guess"}, format="json").status_code for _ in range(11)]
    assert codes[-1] == 429


def test_a_token_reads_and_fires_nothing_and_ends_no_account(alice: Any, make_schedule: Any):
    """Gate row 2 through the doors of tokens: 410 for what is written, and the last word is a session's."""
    schedule = make_schedule(owner=alice, armed=True)
    writing = bearer(alice, "schedules:read", "schedules:write", "runs:write")
    firing = bearer(alice, f"fire:{schedule.public_id}")
    assert writing.post(PATH, {"password": PASSWORD}, format="json").status_code == 403
    deletion_request(user=alice, actor=alice, now=NOW)
    address = f"/api/v1/schedules/{schedule.public_id}"
    assert writing.get(address).status_code == 200
    assert writing.get(PATH).json()["state"] == "requested"
    for answer in (
        firing.post(f"{address}/fire", {"inputs": {}}, format="json"),
        writing.post(f"{address}/run", {}, format="json"),
        writing.patch(address, {"name": "New"}, format="json"),
        writing.patch("/api/v1/me", {"clock": "12"}, format="json"),
        writing.post("/api/v1/schedules", {"name": "N", "prompt": "P", "agent": schedule.agent.public_id,
            "cadence": {"kind": "daily", "time": "09:00"}}, format="json"),
    ):  # fmt: skip
        assert (answer.status_code, answer.json()["code"]) == (410, "account_deleting")
    assert writing.patch(address, {"enabled": False}, format="json").status_code == 200
    assert writing.delete(address).status_code == 204


def test_a_refused_run_leaves_no_row_and_uses_up_no_key(alice: Any, client: APIClient, make_schedule: Any):
    """runs.md, Run now: a wait leaves no row and uses up no key."""
    schedule = make_schedule(owner=alice)
    deletion_request(user=alice, actor=alice, now=NOW)
    address, key = f"/api/v1/schedules/{schedule.public_id}/run", {"Idempotency-Key": "k1"}
    assert client.post(address, {}, format="json", headers=key).status_code == 410
    assert not schedule.runs.exists()
    client.delete(PATH)
    assert client.post(address, {}, format="json", headers=key).status_code == 202


def test_the_export_is_a_zip(client: APIClient):
    answer = client.get("/api/v1/me/export")
    assert answer.headers["Content-Type"] == "application/zip"
    assert "account.json" in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
