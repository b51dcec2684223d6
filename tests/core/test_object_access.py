"""Every address of the API against everybody's objects, generated from the URL table (P15, quality.md)."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from accounts.domain.scopes import SCOPES
from tests.architecture.tree import ROOT
from tests.support.access import Case, Listing, Operators, Own, Theirs
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


def scopes() -> dict[str, tuple[str, ...]]:
    """Return the scopes of which one opens an address to a token, as its view names them, by `METHOD route`."""
    table: dict[str, tuple[str, ...]] = {}
    for route, pattern in _patterns(get_resolver().url_patterns):
        if not route.startswith("api/v1/") or route.removeprefix("api/v1/") in OPEN:
            continue
        view: Any = pattern.callback
        for method in _methods(view):
            act = getattr(view, "actions", {}).get(method.lower(), method)
            named = view.cls.required_scopes.get(act) or ()
            table[f"{method} {route.removeprefix('api/v1/')}"] = (named,) if isinstance(named, str) else tuple(named)
    return table


def cases() -> dict[str, Case]:
    """Return the cases of every app."""
    every: dict[str, Case] = {}
    for app in APPS:
        every |= importlib.import_module(f"tests.{app}.access_cases").CASES
    return every


CASES = cases()
SCOPES_OF = scopes()
DOCUMENT = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text())


def call(client: APIClient, key: str, address: str, body: dict[str, Any] | None = None) -> Any:
    """Ask `address` with the method of the case `key`."""
    method = getattr(client, key.partition(" ")[0].lower())
    return method(f"/api/v1/{address}", data=body, format="json" if body is not None else None)


def address_of(key: str, owner: Any) -> str:
    """Return the address of a case, with an object of `owner` where it names one."""
    case = CASES[key]
    if isinstance(case, Own | Operators):
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


def _documented(key: str) -> set[str]:
    """Return the statuses that the OpenAPI document names for an address."""
    method, _, route = key.partition(" ")
    path = "/api/v1/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)
    return set(DOCUMENT["paths"][path][method.lower()]["responses"])


@pytest.mark.parametrize("key", CASES)
def test_who_may_is_answered_well_or_by_a_documented_refusal_that_is_no_404(key: str, alice: Any, olivia: Any):
    """P15: proves the case, so that the 404 of others means what it shall."""
    owner = olivia if isinstance(CASES[key], Operators) else alice
    needed = tuple(scope for scope in SCOPES_OF[key] if ":{" not in scope)
    clients = [browser(owner)]
    if needed and needed != ("session",):
        clients.append(caller(owner, *(("runs:read",) if needed == ("any",) else needed[:1])))
    for client in clients:
        answer = call(client, key, address_of(key, owner), getattr(CASES[key], "body", None))
        assert answer.status_code != 404 and str(answer.status_code) in _documented(key), answer.content
        assert answer.status_code not in (401, 403), answer.content


@pytest.mark.parametrize("key", CASES)
def test_a_token_with_every_scope_but_the_needed_one_opens_nothing(key: str, alice: Any):
    """wire.md: tokens do what their scopes say."""
    needed = SCOPES_OF[key]
    assert needed, "an act that names no scope is closed to tokens, and then no scope opens it"
    if needed == ("any",):
        return  # what every token but one that only fires may read; that one is tried below
    others = [scope for scope in SCOPES if scope not in needed]
    answer = call(caller(alice, *others), key, address_of(key, alice), getattr(CASES[key], "body", None))
    assert answer.status_code == 403, answer.content
    assert code_of(answer) == ("permission_denied" if needed == ("session",) else "scope_missing")


def test_operators_alone_reach_what_is_theirs(alice: Any, olivia: Any):
    for key, case in CASES.items():
        if isinstance(case, Operators):
            for client in (browser(alice), caller(alice, case.scope)):
                assert call(client, key, address_of(key, alice)).status_code == 403
            assert call(caller(olivia, case.scope), key, address_of(key, olivia)).status_code == 200


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
