"""`/settings/access/`: tokens with their scopes and ends, and where one is signed in, each with its revoke."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import ApiToken, AuditEntry
from accounts.selectors.sessions import sessions_of
from accounts.services.access import password_set
from accounts.services.sessions import session_end, sessions_end_others
from accounts.services.tokens import token_create
from core.clock import now as clock_now
from core.errors import Refusal
from tests.factories import NOW, PASSWORD

PAGE = "/settings/access/"


def sign_in(user: Any, agent: str = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0") -> Client:
    client = Client(headers={"user-agent": agent})
    answer = client.post("/accounts/login/", {"login": user.email, "password": PASSWORD})
    assert answer.status_code == 302, answer.content
    return client


@pytest.fixture
def signed_in(alice: Any) -> Client:
    return sign_in(alice)


def make(client: Client, **typed: Any) -> Any:
    return client.post(PAGE + "tokens", {"name": "CI", "scopes": ["runs:read"], "days": "30", **typed})


def test_a_token_is_shown_once_and_opens_what_its_scopes_say(signed_in: Client, alice: Any):
    answer = make(signed_in)
    assert answer.status_code == 200
    secret = re.search(r'id="secret"[^>]*>([^<]+)<', answer.content.decode())[1]
    assert secret not in signed_in.get(PAGE).content.decode()
    caller = APIClient(headers={"authorization": f"Bearer {secret}"})
    assert caller.get("/api/v1/runs").status_code == 200
    assert caller.get("/api/v1/schedules").status_code == 403
    token = ApiToken.objects.get(user=alice)
    assert (token.scopes, round((token.expiry - token.created) / timedelta(days=1))) == (["runs:read"], 30)
    assert AuditEntry.objects.filter(act="apitoken.added", source="panel", who=alice.person_key.key).exists()


def test_a_token_may_start_one_schedule_and_nothing_else(signed_in: Client, alice: Any, make_schedule: Any):
    schedule = make_schedule(owner=alice)
    assert make(signed_in, fire=schedule.public_id, scopes=["runs:read"], days="").status_code == 200
    token = ApiToken.objects.get()
    assert (token.scopes, token.expiry) == ([f"fire:{schedule.public_id}"], None)


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ({"name": " "}, "required"),
        ({"scopes": []}, "required"),
        ({"scopes": ["root"]}, "required"),
        ({"fire": "sch_of_nobody"}, "scope_unknown"),
        ({"days": "31"}, "choice_unknown"),
    ],
)
def test_what_cannot_be_made_is_said_at_its_field_and_kept(signed_in: Client, typed: dict[str, Any], code: str):
    answer = make(signed_in, **{"name": "Kept as typed", **typed})
    assert answer.status_code == 400
    assert f'data-code="{code}"' in answer.content.decode()
    assert not ApiToken.objects.exists()
    if "name" not in typed:
        assert "Kept as typed" in answer.content.decode()


def test_only_operators_are_offered_the_audit_log(signed_in: Client, olivia: Any):
    assert "audit:read" not in signed_in.get(PAGE).content.decode()
    assert "audit:read" in sign_in(olivia).get(PAGE).content.decode()


def test_a_revoked_token_is_refused_at_once(signed_in: Client, alice: Any):
    token, secret = token_create(user=alice, name="Script", scopes=["runs:read"], now=NOW)
    caller = APIClient(headers={"authorization": f"Bearer {secret}"})
    assert caller.get("/api/v1/runs").status_code == 200
    shown = signed_in.get(PAGE).content.decode()
    assert "Script" in shown and "last used" in shown
    assert signed_in.post(f"{PAGE}tokens/{token.public_id}/revoke").status_code == 303
    assert caller.get("/api/v1/runs").status_code == 401
    assert "Script" not in signed_in.get(PAGE).content.decode().partition("<main")[2].partition("</main>")[0]


def test_a_sign_in_is_listed_and_can_be_ended_from_another(signed_in: Client, alice: Any):
    phone = sign_in(alice, "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0) Safari/605")
    shown = signed_in.get(PAGE).content.decode()
    assert "Firefox on Linux" in shown and "Safari on iPhone" in shown
    row = UserSession.objects.get(session_key=phone.session.session_key)
    assert signed_in.post(f"{PAGE}sessions/{row.pk}/end").status_code == 303
    assert phone.get("/panel/").status_code == 302
    assert signed_in.get("/panel/").status_code == 200
    assert "iPhone" not in signed_in.get(PAGE).content.decode()


def test_all_other_sign_ins_end_together(signed_in: Client, alice: Any, bob: Any):
    others, bobs = [sign_in(alice), sign_in(alice)], sign_in(bob)
    assert signed_in.post(f"{PAGE}sessions/end").status_code == 303
    assert [client.get("/panel/").status_code for client in [*others, signed_in, bobs]] == [302, 302, 200, 200]
    assert AuditEntry.objects.get(act="user.signed_out").after == {"sessions": 2}


def test_what_a_new_password_or_the_time_ended_is_listed_no_longer(signed_in: Client, alice: Any, olivia: Any):
    now = clock_now()
    key = signed_in.session.session_key
    assert [session.here for session in sessions_of(alice, current=key, now=now)] == [True]
    assert sessions_of(alice, current=key, now=now + timedelta(days=400)) == []
    password_set(user=alice, password="another horse battery", actor=olivia, now=NOW)
    assert sessions_of(alice, current=key, now=now) == []
    assert signed_in.get("/panel/").status_code == 302


def test_nobody_ends_or_revokes_what_is_somebody_elses(alice: Any, bob: Any):
    """P15"""
    bobs = sign_in(bob)
    row = UserSession.objects.get(session_key=bobs.session.session_key)
    token, _ = token_create(user=bob, name="Bobs", scopes=["runs:read"], now=NOW)
    client = sign_in(alice)
    assert client.post(f"{PAGE}sessions/{row.pk}/end").status_code == 404
    assert client.post(f"{PAGE}tokens/{token.public_id}/revoke").status_code == 404
    with pytest.raises(Refusal) as refused:
        session_end(user=alice, session_id=row.pk, now=NOW)
    assert refused.value.code == "not_found"
    sessions_end_others(user=alice, keep=None, now=NOW)
    assert bobs.get("/panel/").status_code == 200
    assert ApiToken.objects.filter(pk=token.pk).exists()
