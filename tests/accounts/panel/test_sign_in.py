"""Signing in and up: throttled, closed unless opened, a mailed link, a second factor (accounts.md, quality.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.adapter import AccountAdapter
from accounts.models import AuditEntry, User
from accounts.services.sessions import second_factor_remove
from tests.factories import NOW, PASSWORD

LOGIN = "/accounts/login/"
TRIES = 5
"""Wrong passwords of one account within five minutes."""


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    """Begin and end without counts of other tests."""
    cache.clear()
    yield
    cache.clear()


def enter(email: str, password: str = PASSWORD, **more: Any) -> tuple[Client, Any]:
    client = Client(**more)
    return client, client.post(LOGIN, {"login": email, "password": password})


def test_after_too_many_wrong_passwords_the_right_one_is_refused_too(alice: Any, bob: Any):
    """quality.md, brute force: the next attempt is refused, others are not."""
    for _ in range(TRIES):
        _, answer = enter(alice.email, "not the password")
        assert answer.status_code == 200
    client, answer = enter(alice.email)
    assert answer.status_code == 200
    assert "Too many failed login attempts" in answer.content.decode()
    assert "_auth_user_id" not in client.session
    _, answer = enter(bob.email)
    assert answer.status_code == 302


def test_one_address_that_guesses_at_many_accounts_is_refused(alice: Any, make_user: Any):
    for number in range(10):
        enter(f"person{number}@example.org", "not the password")
    _, answer = enter(alice.email)
    assert "Too many failed login attempts" in answer.content.decode()
    _, answer = enter(alice.email, REMOTE_ADDR="192.0.2.7")
    assert answer.status_code == 302


def test_the_limit_of_an_address_answers_429_with_a_page(alice: Any):
    client = Client()
    answers = [client.post(reverse("account_reset_password"), {"email": f"p{n}@example.org"}) for n in range(21)]
    assert answers[-1].status_code == 429
    assert "That was too often" in answers[-1].content.decode()


def test_sign_up_is_closed_unless_the_setting_opens_it(alice: Any, settings: Any):
    form = {"email": "carol@example.com", "password1": "a good long phrase"}
    closed = Client().post("/accounts/signup/", form)
    assert not User.objects.filter(email=form["email"]).exists()
    assert "Accounts are made by operators here" in closed.content.decode()
    assert "Make one" not in Client().get(LOGIN).content.decode()
    settings.SIGN_UP = True
    assert "Make one" in Client().get(LOGIN).content.decode()
    client = Client()
    assert client.post("/accounts/signup/", form).status_code == 302
    carol = User.objects.get(email=form["email"])
    assert carol.has_perm("accounts.create_schedules") and not carol.is_staff
    assert client.get("/panel/").status_code == 200
    assert AuditEntry.objects.filter(act="user.added", whom=carol.person_key.key, source="panel").exists()


def test_the_first_account_is_made_by_the_set_up_link_alone(db: None, settings: Any):
    settings.SIGN_UP = True
    Client().post("/accounts/signup/", {"email": "carol@example.com", "password1": "a good long phrase"})
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("email", "password"), [("alice@example.com", "a good long phrase"), ("c@example.com", "short")]
)
def test_a_sign_up_that_cannot_be_is_said_in_the_form(email: str, password: str, alice: Any, settings: Any):
    settings.SIGN_UP = True
    answer = Client().post("/accounts/signup/", {"email": email, "password1": password})
    assert answer.status_code == 200
    assert 'aria-invalid="true"' in answer.content.decode()
    assert User.objects.count() == 1


def test_a_mailed_link_sets_a_new_password_once(alice: Any):
    client, new = Client(), "another horse battery"
    assert client.post(reverse("account_reset_password"), {"email": alice.email}).status_code == 302
    [sent] = mail.outbox
    assert sent.to == [alice.email]
    address = re.search(r"http://testserver(/\S+)", sent.body)[1]
    form = client.get(address, follow=True)
    page = form.redirect_chain[-1][0]
    assert client.post(page, {"password1": new, "password2": new}).status_code == 302
    assert enter(alice.email, new)[1].status_code == 302
    assert "does not work any more" in Client().get(address, follow=True).content.decode()
    entry = AuditEntry.objects.get(act="user.password")
    assert (entry.who, entry.whom) == (alice.person_key.key, alice.person_key.key)


def test_asking_for_a_link_tells_nobody_who_has_an_account(alice: Any):
    answers = [
        Client().post(reverse("account_reset_password"), {"email": email}, follow=True).content
        for email in (alice.email, "nobody@example.org")
    ]
    assert answers[0] == answers[1]


def test_a_changed_password_is_noted_and_other_sign_ins_end(alice: Any):
    here, there = enter(alice.email)[0], enter(alice.email)[0]
    new = "another horse battery"
    form = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    answer = here.post(reverse("account_change_password"), form)
    assert answer.headers["Location"] == "/settings/access/"
    assert (here.get("/panel/").status_code, there.get("/panel/").status_code) == (200, 302)
    assert AuditEntry.objects.filter(act="user.password").count() == 1


def code(secret: str) -> str:
    return format_hotp_value(hotp_value(secret, list(yield_hotp_counters_from_time())[1]))


def with_second_factor(client: Client) -> str:
    asked = client.get(reverse("mfa_activate_totp")).headers["Location"]
    assert asked.startswith(reverse("account_reauthenticate")), "the password is asked for once more"
    page = client.post(asked, {"password": PASSWORD}, follow=True).content.decode()
    secret = re.search(r'id="authenticator_secret" value="([A-Z2-7]+)"', page)[1]
    assert "<svg" in page and "data:" not in page
    assert client.post(reverse("mfa_activate_totp"), {"code": code(secret)}).status_code == 302
    return secret


def test_a_second_factor_is_asked_for_once_it_is_set_up(alice: Any, olivia: Any):
    secret = with_second_factor(enter(alice.email)[0])
    kept = Authenticator.objects.get(user=alice, type="totp")
    assert secret not in str(kept.data)
    client, answer = enter(alice.email)
    assert answer.headers["Location"].startswith(reverse("mfa_authenticate"))
    assert client.get("/panel/").status_code == 302
    assert client.post(reverse("mfa_authenticate"), {"code": "000000"}).status_code == 200
    cache.clear()  # a code works once
    assert client.post(reverse("mfa_authenticate"), {"code": code(secret)}).status_code == 302
    assert client.get("/panel/").status_code == 200
    assert second_factor_remove(user=alice, actor=olivia, now=NOW)
    assert not second_factor_remove(user=alice, actor=olivia, now=NOW)
    assert enter(alice.email)[1].headers["Location"] == "/panel/"
    assert AuditEntry.objects.get(act="user.second_factor").before == {"factors": ["recovery_codes", "totp"]}


def test_a_recovery_code_lets_somebody_in_once(alice: Any):
    here = enter(alice.email)[0]
    with_second_factor(here)
    shown = here.get(reverse("mfa_view_recovery_codes")).content.decode()
    one = re.search(r"<textarea[^>]*>\s*(\S+)", shown)[1]
    for expected in (302, 200):
        client, _ = enter(alice.email)
        assert client.post(reverse("mfa_authenticate"), {"code": one}).status_code == expected


@pytest.mark.parametrize(
    "name", ["mfa_index", "account_change_password", "account_reauthenticate", "usersessions_list"]
)
def test_pages_of_ones_own_access_have_the_bar_and_the_banner(name: str, alice: Any, settings: Any):
    settings.GLOBAL_STOP, settings.GLOBAL_STOP_REASON = True, "moving the database"
    page = enter(alice.email)[0].get(reverse(name)).content.decode()
    assert "moving the database" in page and 'class="bar"' in page


@pytest.mark.parametrize(
    ("proxies", "forwarded", "counted"),
    [
        (0, "203.0.113.9", "127.0.0.1"),
        (1, "203.0.113.9", "203.0.113.9"),
        (1, "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        (2, "198.51.100.1, 203.0.113.9", "198.51.100.1"),
        (2, "203.0.113.9", "127.0.0.1"),
        (1, "unknown", "0.0.0.0"),
        (1, "2001:db8::0001", "2001:db8::1"),
    ],
)
def test_the_address_that_is_counted_is_what_our_own_proxies_saw(
    proxies: int, forwarded: str, counted: str, settings: Any, rf: Any
):
    """What a client writes into the header itself never counts."""
    settings.TRUSTED_PROXIES = proxies
    request = rf.get("/", headers={"X-Forwarded-For": forwarded})
    assert AccountAdapter().get_client_ip(request) == counted
