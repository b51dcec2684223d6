"""Who may reach what: nobody else's, and no more than a token's scopes."""

from __future__ import annotations

import pytest
from django.urls import URLPattern
from rest_framework.test import APIClient

from schedules.api.urls import urlpatterns

METHODS = {"get", "post", "patch", "delete"}
SCHEDULES_READ, SCHEDULES_WRITE = "schedules:read", "schedules:write"
RUNS_READ, RUNS_WRITE = "runs:read", "runs:write"

SCOPES = {
    ("schedules", "get"): SCHEDULES_READ,
    ("schedules", "post"): SCHEDULES_WRITE,
    ("schedules/preview", "post"): SCHEDULES_READ,
    ("schedules/<str:id>", "get"): SCHEDULES_READ,
    ("schedules/<str:id>", "patch"): SCHEDULES_WRITE,
    ("schedules/<str:id>", "delete"): SCHEDULES_WRITE,
    ("schedules/<str:id>/run", "post"): (RUNS_WRITE, SCHEDULES_WRITE),
    ("schedules/<str:id>/fire", "post"): "fire:{id}",
    ("schedules/<str:id>/pause", "post"): SCHEDULES_WRITE,
    ("schedules/<str:id>/resume", "post"): SCHEDULES_WRITE,
    ("schedules/<str:id>/skip-next", "post"): SCHEDULES_WRITE,
    ("schedules/<str:id>/runs", "get"): RUNS_READ,
    ("runs", "get"): RUNS_READ,
    ("runs/<str:id>", "get"): RUNS_READ,
    ("runs/<str:id>/stop", "post"): RUNS_WRITE,
    ("runs/<str:id>/attempts", "get"): RUNS_READ,
}
BODIES = {"schedules/<str:id>/skip-next": {"scheduled_for": "2026-06-01T09:00:00Z"}}


def acts(pattern: URLPattern) -> set[str]:
    return METHODS & set(pattern.callback.actions)


ROUTES = [(str(pattern.pattern), method) for pattern in urlpatterns for method in sorted(acts(pattern))]
WITH_ID = [(route, method) for route, method in ROUTES if "<" in route]


def send(client, route, method, public_id="x"):
    address = "/api/v1/" + route.replace("<str:id>", public_id)
    return getattr(client, method)(address, BODIES.get(route), format="json" if route in BODIES else None)


def test_every_route_has_a_scope_here():
    assert set(ROUTES) == set(SCOPES)


@pytest.mark.parametrize(("route", "method"), WITH_ID)
def test_somebody_elses_thing_and_no_thing_are_the_same_404(
    route, method, alice, bob, client_of, make_schedule, make_run
):
    """P15."""
    schedule = make_schedule(owner=alice)
    public_id = schedule.public_id if route.startswith("schedules") else make_run(schedule=schedule).public_id
    theirs = send(client_of(bob), route, method, public_id)
    nothing = send(client_of(bob), route, method, public_id[:-4] + "none")
    assert theirs.status_code == nothing.status_code == 404
    assert theirs.json() == nothing.json()
    assert schedule.runs.count() <= 1 and type(schedule).objects.get().enabled


@pytest.mark.parametrize(("route", "method"), ROUTES)
def test_a_token_needs_the_scope_of_the_act(route, method, alice, token_client, make_schedule, make_run):
    """Where two are named, either is enough: who may write a schedule can have it run at once anyway."""
    needed = {SCOPES[route, method]} if isinstance(SCOPES[route, method], str) else set(SCOPES[route, method])
    others = {SCHEDULES_READ, SCHEDULES_WRITE, RUNS_READ, RUNS_WRITE, "conversations:write"} - needed
    schedule = make_schedule(owner=alice, armed=True)
    public_id = schedule.public_id if route.startswith("schedules") else make_run(schedule=schedule).public_id
    refused = send(token_client(alice, others), route, method, public_id)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    for scope in sorted(scope.format(id=public_id) for scope in needed):
        allowed = send(token_client(alice, [scope]), route, method, public_id)
        assert allowed.status_code not in (401, 403), allowed.content


@pytest.mark.parametrize(("route", "method"), ROUTES)
def test_without_signing_in_nothing_is_answered(db, route, method):
    response = send(APIClient(), route, method)
    assert (response.status_code, response.json()["code"]) == (401, "not_signed_in")


def test_a_session_needs_its_csrf_token_to_change_anything(alice, body):
    """B85."""
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(alice)
    response = client.post("/api/v1/schedules", body, format="json")
    assert (response.status_code, response.json()["code"]) == (403, "csrf_failed")
