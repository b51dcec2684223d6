"""Every address of the API against everybody's objects, generated from the URL table (P15, quality.md)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from tests.support.access import Case, Listing, Own, Theirs
from tests.support.calls import browser, caller, code_of

APPS = ("accounts", "projects", "agents", "chats", "schedules")
OPEN = ("schema/", "docs/")
"""Addresses that hold nothing of anybody."""


def _patterns(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern), pattern


def _methods(callback: Any) -> list[str]:
    if hasattr(callback, "actions"):
        return [method.upper() for method in callback.actions if method != "head"]
    view = callback.cls if hasattr(callback, "cls") else callback.view_class
    return [method.upper() for method in ("get", "post", "put", "patch", "delete") if hasattr(view, method)]


def routes() -> list[str]:
    """Return `METHOD route` for every address below `/api/v1/`."""
    found = _patterns(get_resolver().url_patterns)
    below = [(route.removeprefix("api/v1/"), p) for route, p in found if route.startswith("api/v1/")]
    return [f"{method} {route}" for route, p in below if route not in OPEN for method in _methods(p.callback)]


def cases() -> dict[str, Case]:
    """Return the cases of every app."""
    every: dict[str, Case] = {}
    for app in APPS:
        every |= importlib.import_module(f"tests.{app}.access_cases").CASES
    return every


CASES = cases()


def call(client: APIClient, key: str, address: str, body: dict[str, Any] | None = None) -> Any:
    """Ask `address` with the method of the case `key`."""
    method = getattr(client, key.partition(" ")[0].lower())
    return method(f"/api/v1/{address}", data=body, format="json" if body is not None else None)


def address_of(key: str, owner: Any) -> str:
    """Return the address of a case, with an object of `owner` where it names one."""
    case = CASES[key]
    if isinstance(case, Own):
        return key.partition(" ")[2]
    made = case.make(owner)
    return made if isinstance(made, str) else made[0]


def test_every_address_of_the_api_has_a_case_and_no_case_is_left_over():
    assert set(routes()) == set(CASES)


THEIRS = {key: case for key, case in CASES.items() if isinstance(case, Theirs)}
LISTS = {key: case for key, case in CASES.items() if isinstance(case, Listing)}


@pytest.mark.parametrize("key", THEIRS)
@pytest.mark.parametrize("by", ["token", "session"])
def test_what_is_somebody_elses_is_not_there(key: str, by: str, alice: Any, bob: Any):
    """P15"""
    case = THEIRS[key]
    client = caller(bob) if by == "token" else browser(bob)
    answer = call(client, key, case.make(alice), case.body)
    by_token = "scope_missing" if case.fires else "not_found" if case.by_token else "permission_denied"
    expected = "not_found" if by == "session" else by_token
    assert code_of(answer) == expected
    assert answer.status_code == (404 if expected == "not_found" else 403)


@pytest.mark.parametrize("key", THEIRS)
def test_operators_are_other_people_too_where_it_is_not_the_admin(key: str, alice: Any, olivia: Any):
    """P15"""
    answer = call(browser(olivia), key, THEIRS[key].make(alice), THEIRS[key].body)
    assert answer.status_code == 404, answer.content


@pytest.mark.parametrize("key", THEIRS)
def test_its_owner_finds_it(key: str, alice: Any):
    client = browser(alice)
    answer = call(client, key, THEIRS[key].make(alice), THEIRS[key].body)
    assert answer.status_code != 404, answer.content


@pytest.mark.parametrize("key", LISTS)
def test_a_list_holds_what_is_mine_and_nothing_of_others(key: str, alice: Any, bob: Any):
    """P15"""
    address, public_id = LISTS[key].make(alice)
    mine = call(caller(alice), key, address)
    theirs = call(caller(bob), key, address)
    assert mine.status_code == theirs.status_code == 200, (mine.content, theirs.content)
    assert public_id in mine.content.decode()
    assert public_id not in theirs.content.decode()


@pytest.mark.parametrize("key", CASES)
def test_without_a_sign_in_nothing_is_read_or_done(key: str, alice: Any):
    answer = call(APIClient(), key, address_of(key, alice), getattr(CASES[key], "body", None))
    assert answer.status_code == 401, answer.content
    assert code_of(answer) == "not_signed_in"
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("key", CASES)
def test_a_fire_token_opens_nothing(key: str, alice: Any):
    client = caller(alice, "fire:sch_another")
    answer = call(client, key, address_of(key, alice), getattr(CASES[key], "body", None))
    assert answer.status_code == 403, answer.content
    assert code_of(answer) in ("scope_missing", "permission_denied")


CHANGES = [key for key in CASES if not key.startswith("GET ")]


@pytest.mark.parametrize("key", CHANGES)
def test_a_session_changes_nothing_without_its_csrf_token(key: str, alice: Any):
    """B85"""
    client = browser(alice, enforce_csrf_checks=True)
    answer = call(client, key, address_of(key, alice), getattr(CASES[key], "body", None) or {})
    assert answer.status_code == 403, answer.content
    assert code_of(answer) == "csrf_failed"


@pytest.mark.parametrize("key", [key for key in CHANGES if not getattr(CASES[key], "reads", False)])
def test_a_token_that_may_only_read_changes_nothing(key: str, alice: Any):
    client = caller(alice, "schedules:read", "runs:read", "conversations:read")
    answer = call(client, key, address_of(key, alice), getattr(CASES[key], "body", None) or {})
    assert answer.status_code == 403, answer.content
