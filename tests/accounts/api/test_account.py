"""`/api/v1/me` and `/api/v1/tokens`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from accounts.models import ApiToken
from tests.support.calls import browser, caller, code_of, field_codes


def test_me_is_who_asks_and_what_they_may_do(alice: Any):
    assert caller(alice, "runs:read").get("/api/v1/me").json() == {
        "id": alice.public_id,
        "email": "alice@example.com",
        "display_name": "Alice",
        "zone": "UTC",
        "locale": "en",
        "clock": "24",
        "first_weekday": 0,
        "operator": False,
        "permissions": ["create_schedules", "use_schedules"],
    }


def test_me_can_be_changed_field_by_field(alice: Any):
    answer = browser(alice).patch("/api/v1/me", {"zone": "Asia/Tokyo"}, format="json")
    assert (answer.status_code, answer.json()["zone"], answer.json()["clock"]) == (200, "Asia/Tokyo", "24")
    answer = browser(alice).patch("/api/v1/me", {"zone": "x", "email": "a@b.c", "clock": 12}, format="json")
    assert field_codes(answer) == {"email": ["unknown_field"], "clock": ["choice_unknown"]}
    assert field_codes(browser(alice).patch("/api/v1/me", {"zone": "x"}, format="json")) == {"zone": ["zone_unknown"]}


def test_a_token_is_shown_once(alice: Any):
    client = browser(alice)
    body = {"name": "CI", "scopes": ["runs:read"], "expires_at": "2999-01-01T00:00:00+02:00"}
    made = client.post("/api/v1/tokens", body, format="json")
    assert made.status_code == 201
    shown = made.json()
    secret = shown.pop("token")
    assert shown["expires_at"] == "2998-12-31T22:00:00Z"
    assert client.get("/api/v1/tokens").json()["results"] == [shown]
    assert ApiToken.objects.get().expiry == datetime(2998, 12, 31, 22, tzinfo=UTC)
    client.logout()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert client.get("/api/v1/me").status_code == 200


def test_a_repeated_create_makes_one_token_and_does_not_show_its_secret_again(alice: Any):
    client = browser(alice)
    body = {"name": "CI", "scopes": ["runs:read"]}
    first = client.post("/api/v1/tokens", body, format="json", HTTP_IDEMPOTENCY_KEY="k")
    second = client.post("/api/v1/tokens", body, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert (second.status_code, second["Idempotent-Replayed"]) == (201, "true")
    assert second.json() == first.json() | {"token": None}
    assert ApiToken.objects.count() == 1


def test_no_token_begets_another(alice: Any):
    answer = caller(alice).post("/api/v1/tokens", {"name": "More", "scopes": ["runs:read"]}, format="json")
    assert (answer.status_code, code_of(answer)) == (403, "permission_denied")


def test_wrong_tokens_are_refused_at_their_fields(alice: Any):
    answer = browser(alice).post("/api/v1/tokens", {"name": "", "scopes": ["root"]}, format="json")
    assert field_codes(answer) == {"name": ["required"]}
    answer = browser(alice).post("/api/v1/tokens", {"name": "x", "scopes": ["root"]}, format="json")
    assert field_codes(answer) == {"scopes": ["scope_unknown"]}
    answer = browser(alice).post("/api/v1/tokens", {"name": "x", "scopes": ["fire:sch_1"]}, format="json")
    assert field_codes(answer) == {"scopes": ["scope_unknown"]}
    answer = browser(alice).post("/api/v1/tokens", {"name": "x", "scopes": [], "expires_at": "soon"}, format="json")
    assert field_codes(answer) == {"scopes": ["required"], "expires_at": ["wrong_type"]}
