"""Commands that scripts rely on (wire.md, Commands)."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import ApiToken, User
from accounts.selectors.stops import global_stop


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def make(monkeypatch: pytest.MonkeyPatch, *arguments: str, password: str = "a good long phrase\n") -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(password))
    return run("create_user", *arguments, "--password-stdin")


def test_an_account_is_made_with_the_password_from_standard_input(db: None, monkeypatch: pytest.MonkeyPatch):
    make(monkeypatch, "ann@example.com")
    make(monkeypatch, "oscar@example.com", "--operator")
    ann, oscar = User.objects.order_by("email")
    assert ann.check_password("a good long phrase")
    assert (ann.is_staff, oscar.is_staff) == (False, True)


def test_a_refused_account_is_an_error_in_words(alice: Any, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(CommandError) as caught:
        make(monkeypatch, "alice@example.com", password="short\n")
    assert str(caught.value).splitlines()[0] == "email: There is an account with this e-mail already."
    assert "12 characters" in str(caught.value)


def test_nobody_at_the_keyboard_is_said(db: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CommandError, match="--password-stdin"):
        run("create_user", "ann@example.com")


def test_the_token_is_the_only_line(alice: Any):
    out = run("create_token", "ALICE@example.com", "--scope", "schedules:read", "--scope", "runs:read")
    secret = out.removesuffix("\n")
    assert "\n" not in secret and " " not in secret
    token = ApiToken.objects.get()
    assert secret.startswith(token.token_key)
    assert (token.user, token.scopes, token.expiry) == (alice, ["runs:read", "schedules:read"], None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody@example.com", "--scope", "runs:read"), "no account"),
        (("alice@example.com", "--scope", "root"), "no scope"),
        (("alice@example.com", "--scope", "fire:sch_1"), "no scope"),
    ],
)
def test_a_refused_token_prints_nothing_on_standard_output(arguments: tuple[str, ...], words: str, alice: Any):
    out = io.StringIO()
    with pytest.raises(CommandError, match=words):
        call_command("create_token", *arguments, stdout=out)
    assert out.getvalue() == ""


def test_the_global_stop_is_switched_with_its_reason(db: None, settings: Any):
    assert "On" in run("global_stop", "on", "--reason", "Moving house")
    stop = global_stop()
    assert stop is not None and stop.reason == "Moving house"
    assert "Off" in run("global_stop", "off")
    assert global_stop() is None
    settings.GLOBAL_STOP = True
    assert "environment" in run("global_stop", "off")


def test_the_set_up_link_is_printed_while_there_is_no_account(db: None, monkeypatch: pytest.MonkeyPatch):
    assert run("setup_link", "--base-url", "http://localhost:9000/").startswith("http://localhost:9000/setup/")
    make(monkeypatch, "ann@example.com")
    assert run("setup_link") == ""
