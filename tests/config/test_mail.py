"""How mail leaves the server: one address in the environment (docs/access.md)."""

from __future__ import annotations

from typing import Any

import pytest

from config import env


def test_without_an_address_mails_stand_in_the_log():
    assert env.mail("")["EMAIL_BACKEND"] == "django.core.mail.backends.console.EmailBackend"


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "ssl"),
    [
        ("smtp://mail.example.com", "mail.example.com", 587, True, False),
        ("smtps://mail.example.com", "mail.example.com", 465, False, True),
        ("smtp+plain://localhost:1025", "localhost", 1025, False, False),
    ],
)
def test_the_scheme_says_how_the_line_is_protected(url: str, host: str, port: int, tls: bool, ssl: bool):
    found: dict[str, Any] = env.mail(url)
    names = ("EMAIL_HOST", "EMAIL_PORT", "EMAIL_USE_TLS", "EMAIL_USE_SSL", "EMAIL_HOST_USER")
    assert tuple(found[name] for name in names) == (host, port, tls, ssl, "")


def test_user_and_password_may_hold_any_character():
    found = env.mail("smtp://me%40example.com:p%3Aw%2Fd@mail.example.com:2525")
    assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"], found["EMAIL_PORT"]) == (
        "me@example.com", "p:w/d", 2525,
    )  # fmt: skip


@pytest.mark.parametrize("url", ["http://mail.example.com", "smtp://", "mail.example.com"])
def test_another_address_ends_the_start_with_one_line(url: str):
    with pytest.raises(env.EnvError, match="EMAIL_URL"):
        env.mail(url)
