"""`/settings/deletion/`: proof, what goes, export, the page of the grace, and the way back."""

from __future__ import annotations

import io
import json
import time
import zipfile
from typing import Any

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.test import Client

from accounts.models import DeletionRequest, User
from accounts.services.deletion import deletion_request
from chats.models import Message
from schedules.models import Schedule
from tests.factories import NOW, PASSWORD
from tests.support.leaving import everything_of

PAGE = "/settings/deletion/"


@pytest.fixture(autouse=True)
def fresh_limits() -> None:
    cache.clear()


@pytest.fixture
def signed_in(alice: Any) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def ask(client: Client, **typed: str) -> Any:
    return client.post(PAGE + "request", {"password": PASSWORD, **typed})


def test_the_page_says_what_goes_before_anything_is_asked(signed_in: Client, alice: Any, make_schedule: Any):
    make_schedule(owner=alice)
    said = signed_in.get(PAGE).content.decode()
    for words in ("1 schedule<", "0 conversations<", "after 7 days", "Download everything first"):
        assert words in said
    assert 'href="/settings/deletion/"' in signed_in.get("/settings/").content.decode()


@pytest.mark.parametrize(
    "typed", [{"password": ""}, {"password": "wrong horse battery"}, {"password": "", "code": "1"}]
)
def test_nothing_happens_without_the_password(signed_in: Client, typed: dict[str, str]):
    answer = ask(signed_in, **typed)
    assert answer.status_code == 400
    assert 'data-code="' in answer.content.decode()
    assert not DeletionRequest.objects.exists()


def test_guessing_is_slow(signed_in: Client):
    codes = [ask(signed_in, password=f"guess {number}").status_code for number in range(12)]
    assert codes[:10] == [400] * 10
    assert codes[10:] == [429] * 2
    assert ask(signed_in).status_code == 429


def test_a_code_of_the_second_factor_is_proof_enough(signed_in: Client, alice: Any):
    secret = totp.generate_totp_secret()
    totp.TOTP.activate(alice, secret)
    code = totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30))
    assert ask(signed_in, password="", code=code).status_code == 303
    assert DeletionRequest.objects.get().state == "requested"


def test_a_recovery_code_is_proof_enough(signed_in: Client, alice: Any):
    totp.TOTP.activate(alice, totp.generate_totp_secret())
    code = RecoveryCodes.activate(alice).get_unused_codes()[0]
    assert ask(signed_in, password="", code=code).status_code == 303


def test_during_the_grace_signing_in_lands_on_the_page_and_everything_says_so(signed_in: Client, alice: Any):
    assert ask(signed_in).headers["Location"] == PAGE
    fresh = Client()
    entered = fresh.post("/accounts/login/?next=/panel/", {"login": alice.email, "password": PASSWORD})
    assert entered.headers["Location"] == PAGE
    said = fresh.get(PAGE).content.decode()
    assert "Keep my account" in said
    assert "Erase it now" in said
    for address in ("/panel/", "/c/", "/runs/", "/projects/", "/settings/"):
        shown = fresh.get(address)
        assert shown.status_code == 200
        assert 'data-code="account_deleting"' in shown.content.decode()


def test_what_is_written_is_refused_and_what_ends_something_is_not(
    signed_in: Client, alice: Any, make_schedule: Any, make_project: Any, make_conversation: Any
):
    """Gate row 2: 410 at every form; pausing, deleting and reading stay possible."""
    schedule, project = make_schedule(owner=alice, armed=True), make_project(owner=alice)
    conversation = make_conversation(owner=alice)
    ask(signed_in)
    for address, typed in {
        f"/schedules/{schedule.public_id}/run": {},
        "/projects/new": {"name": "New"},
        f"/c/{conversation.public_id}/rename": {"title": "New"},
        "/settings/access/tokens": {"name": "CI", "scopes": ["runs:read"], "days": "30"},
    }.items():
        answer = signed_in.post(address, typed)
        assert answer.status_code == 410, (address, answer.content)
    assert signed_in.post(f"/schedules/{schedule.public_id}/pause").status_code == 303
    assert not Schedule.objects.get().enabled
    assert signed_in.post(f"/schedules/{schedule.public_id}/resume").status_code == 410
    assert signed_in.post(f"/c/{conversation.public_id}/delete").status_code == 303
    assert signed_in.post(f"/projects/{project.public_id}/delete", {"move_to": "none"}).status_code == 303
    assert signed_in.post(f"/schedules/{schedule.public_id}/delete").status_code == 303


def test_the_account_is_kept_with_one_button(signed_in: Client, make_schedule: Any, alice: Any):
    schedule = make_schedule(owner=alice)
    ask(signed_in)
    kept = signed_in.post(PAGE + "cancel", follow=True)
    assert "Your account stays" in kept.content.decode()
    assert signed_in.post(f"/schedules/{schedule.public_id}/run").status_code == 303
    assert signed_in.post(PAGE + "cancel").status_code == 409


def test_hastening_asks_again_and_signs_out(signed_in: Client):
    ask(signed_in)
    assert signed_in.post(PAGE + "hasten", {"password": "wrong"}).status_code == 400
    assert DeletionRequest.objects.get().not_before > DeletionRequest.objects.get().requested_at
    assert signed_in.post(PAGE + "hasten", {"password": PASSWORD}).status_code == 303
    request = DeletionRequest.objects.get()
    assert (request.not_before - request.requested_at).total_seconds() < 60
    assert signed_in.get(PAGE).headers["Location"].startswith("/accounts/login/")


def test_the_last_operator_has_to_say_it_twice(olivia: Any):
    client = Client()
    client.force_login(olivia)
    first = ask(client)
    assert first.status_code == 409
    assert 'name="even_last"' in first.content.decode()
    assert ask(client, even_last="on").status_code == 303


@pytest.mark.parametrize("during", [False, True])
def test_everything_can_be_taken_along_before_and_during_the_grace(during: bool, db: None):
    user = everything_of()
    Message.objects.update(text="What was said")
    if during:
        deletion_request(user=user, actor=user, now=NOW)
    client = Client()
    client.force_login(user)
    answer = client.get(PAGE + "export")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/zip")
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    files = {name: archive.read(name).decode() for name in archive.namelist()}
    conversation = user.conversations.get()
    assert json.loads(files["schedules.json"])[0]["prompt"] == "Say good morning."
    assert json.loads(files["runs/2026-06.json"])[0]["id"] == user.runs.get().public_id
    assert json.loads(files["projects.json"])[0]["id"] == user.projects.get().public_id
    assert json.loads(files["account.json"])["email"] == user.email
    assert "What was said" in files[f"conversations/{conversation.public_id}.md"]
    assert json.loads(files[f"conversations/{conversation.public_id}.json"])["messages"][0]["text"] == "What was said"
    assert "Say good morning." in files["schedules.md"]


def test_the_export_holds_nothing_of_anybody_else(alice: Any, db: None):
    """P15"""
    everything_of("bob@example.com")
    client = Client()
    client.force_login(User.objects.get(email="alice@example.com"))
    archive = zipfile.ZipFile(io.BytesIO(client.get(PAGE + "export").content))
    whole = "".join(archive.read(name).decode() for name in archive.namelist())
    assert "bob@example.com" not in whole
    assert "Say good morning." not in whole
