"""What tests of pages share: a signed-in person, fragments, and reading what a card says."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from django.test import Client
from django.utils.html import strip_tags

FRAGMENT = {"HX-Request": "true"}


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def card_of(page: str, public_id: str) -> str:
    """Return the HTML of one card."""
    found = re.search(rf'<article class="card" id="s-{public_id}".*?</article>', page, re.DOTALL)
    assert found, f"no card of {public_id}"
    return found.group(0)


def words(html: str) -> str:
    """Return what a reader sees, in one line."""
    return re.sub(r"\s+", " ", unescape(strip_tags(html))).strip()


def state_of(page: str, public_id: str) -> str:
    return re.search(r'data-s="(\w+)"', card_of(page, public_id)).group(1)  # type: ignore[union-attr]


def version_of(page: str, public_id: str) -> str:
    return re.search(r'data-v="(\w+)"', card_of(page, public_id)).group(1)  # type: ignore[union-attr]


def groups_of(page: str) -> list[str]:
    return re.findall(r'<h2 class="group-title"[^>]*>([^<]+)</h2>', page)


def codes_of(html: str) -> set[str]:
    """Return every code that a page names at a field or notice."""
    return set(re.findall(r'data-code="(\w+)"', html))
