"""Every page and fragment against everybody's objects, generated from the URL table (P15, quality.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.urls import get_resolver

from accounts.models import User
from accounts.services.tokens import token_create
from tests import factories
from tests.core.test_object_access import _patterns

SECRET = "Alices own matter"
ELSEWHERE = ("api/", "admin/", "accounts/")
"""The API has its own test; operators see everybody's rows; sign-in pages hold nothing of anybody."""

PUBLIC = ("healthz", "readyz", "setup/<str:token>", "theme", "")


def _project(owner: User) -> str:
    return f"projects/{factories.make_project(owner=owner, name=SECRET).public_id}"


def _conversation(owner: User) -> str:
    return f"c/{factories.make_conversation(owner=owner, title=SECRET).public_id}"


def _turn(owner: User) -> str:
    conversation = factories.make_conversation(owner=owner, title=SECRET)
    turn = factories.make_turn(owner=owner, conversation=conversation)
    return f"c/{conversation.public_id}/turns/{turn.public_id}"


def _schedule(owner: User) -> str:
    return f"schedules/{factories.make_schedule(owner=owner, name=SECRET, prompt=SECRET, armed=True).public_id}"


def _run(owner: User) -> str:
    schedule = factories.make_schedule(owner=owner, name=SECRET)
    return f"runs/{factories.make_run(schedule=schedule, name=SECRET).public_id}"


def _token(owner: User) -> str:
    token, _ = token_create(user=owner, name=SECRET, scopes=["runs:read"], now=factories.NOW)
    return f"settings/access/tokens/{token.public_id}"


def _session(owner: User) -> str:
    row = UserSession.objects.create(user=owner, ip="192.0.2.7", session_key=f"{owner.pk} {SECRET}", user_agent=SECRET)
    return f"settings/access/sessions/{row.pk}"


MAKERS: dict[str, Callable[[User], str]] = {
    "c/<str:public_id>/turns/<str:turn_id>": _turn,
    "projects/<str:public_id>": _project,
    "c/<str:public_id>": _conversation,
    "schedules/<str:public_id>": _schedule,
    "runs/<str:public_id>": _run,
    "settings/access/tokens/<str:public_id>": _token,
    "settings/access/sessions/<int:session_id>": _session,
}
"""How to build what an address names, by the beginning of its route; the longest comes first."""

ROUTES = sorted({route for route, _ in _patterns(get_resolver().url_patterns) if not route.startswith(ELSEWHERE)})
OBJECTS = [route for route in ROUTES if "<" in route and route not in PUBLIC]
LISTS = [route for route in ROUTES if "<" not in route and route not in PUBLIC]
FRAGMENT = {"HX-Request": "true"}
METHODS = ("get", "post", "put", "patch", "delete")


def address_of(route: str, owner: User) -> str:
    """Return an address of `route` with an object of `owner`; a route nobody knows here fails the test."""
    for start, make in MAKERS.items():
        if route.startswith(start):
            return f"/{make(owner)}{route.removeprefix(start)}"
    raise AssertionError(f"{route} names an object that tests/core/test_page_access.py cannot build")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("headers", [{}, FRAGMENT], ids=["page", "fragment"])
@pytest.mark.parametrize("route", OBJECTS)
def test_a_page_of_somebody_elses_object_is_not_there(route: str, headers: dict[str, str], alice: Any, bob: Any):
    """P15"""
    address = address_of(route, alice)
    client = signed_in(bob)
    for method in METHODS:
        answer = getattr(client, method)(address, headers=headers)
        assert answer.status_code in (404, 405)
        assert SECRET not in answer.content.decode()


@pytest.mark.parametrize("route", OBJECTS)
def test_what_its_owner_finds_by_a_method_others_do_not_by_the_same(route: str, bob: Any):
    """P15: the owner's answer proves that the object is there, so that the 404 of others says what it shall."""
    found = []
    for method in METHODS:
        owner = factories.make_user()
        address = address_of(route, owner)
        others = getattr(signed_in(bob), method)(address)
        owners = getattr(signed_in(owner), method)(address)
        assert owners.status_code < 500, owners.content
        if owners.status_code == 405:
            assert others.status_code == 405
            continue
        assert owners.status_code != 404, (method, owners.content)
        assert others.status_code == 404, (method, others.content)
        found.append(method)
    assert found


@pytest.mark.parametrize("route", LISTS)
def test_no_page_shows_what_is_somebody_elses(route: str, alice: Any, bob: Any):
    """P15"""
    for make in MAKERS.values():
        make(alice)
    client = signed_in(bob)
    for headers in ({}, FRAGMENT):
        answer = client.get(f"/{route}", headers=headers)
        assert answer.status_code in (200, 204, 302, 303, 304, 404, 405), answer.content
        assert SECRET not in answer.content.decode(errors="replace")


@pytest.mark.parametrize("route", [*OBJECTS, *LISTS])
def test_nobody_sees_a_page_before_signing_in(route: str, alice: Any):
    address = address_of(route, alice) if "<" in route else f"/{route}"
    for method in METHODS:
        page, fragment = getattr(Client(), method)(address), getattr(Client(), method)(address, headers=FRAGMENT)
        assert page.status_code == 405 or page.headers.get("Location", "").startswith("/accounts/login/")
        assert fragment.status_code in (401, 405)


@pytest.mark.parametrize("route", [*OBJECTS, *LISTS])
def test_no_page_changes_anything_without_its_csrf_token(route: str, alice: Any):
    """B85"""
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    address = address_of(route, alice) if "<" in route else f"/{route}"
    assert client.post(address).status_code in (403, 405)
