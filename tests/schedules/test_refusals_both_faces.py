"""What is refused is refused alike by the API and by the dialog: same code, same field, nothing stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from schedules.inputs import body_to_form, field_of_path
from schedules.models import Schedule
from tests.schedules.conftest import columns
from tests.schedules.forms import PageForm
from tests.schedules.test_inputs_untouched import SCHEDULES

CASES = json.loads((Path(__file__).parents[1] / "cases" / "cadence.json").read_text())["refused"]
NOT_BY_FORM = {"extra-field"}
"""The form sends the fields of the chosen kind only, so that this body cannot come from it."""

Refused = tuple[str, list[str]]


def as_form(body: dict[str, Any]) -> dict[str, Any]:
    """Return the dialog's fields for a wire body."""
    cadence = dict(body["cadence"])
    form = {name: value for name, value in body.items() if name != "cadence"}
    form |= {"enabled": "on", "ends": "never", "project": body.get("project") or ""}
    if cadence["kind"] == "once":
        form["at_date"], _, form["at_time"] = cadence.pop("at").partition("T")
    return {"zone": "UTC", **form, **cadence}


@pytest.fixture
def refuse(alice, client) -> Callable[[str, dict[str, Any]], Refused]:
    """Send a body through a face; return the refusal's code and fields, and see that what was typed is still there."""
    client.force_login(alice)

    def by_api(body: dict[str, Any]) -> Refused:
        response = client.post("/api/v1/schedules", json.dumps(body), content_type="application/json")
        document = response.json()
        assert response.headers["Content-Type"] == "application/problem+json"
        codes = [error["code"] for errors in document["fields"].values() for error in errors]
        assert codes == [document["code"]]
        return document["code"], [field_of_path(path, body["cadence"]["kind"]) for path in document["fields"]]

    def by_form(body: dict[str, Any]) -> Refused:
        form = as_form(body)
        response = client.post(reverse("schedules:create"), form)
        assert response.status_code == 400
        page = response.content.decode()
        for typed in (form.get("name", ""), form.get("prompt", ""), form.get("expression", "")):
            assert escape(typed) in page
        errors = response.context["form"]["errors"]
        (code,) = {error["code"] for of_field in errors.values() for error in of_field}
        return code, list(errors)

    def act(face: str, body: dict[str, Any]) -> Refused:
        before = Schedule.objects.count()
        refused = by_api(body) if face == "api" else by_form(body)
        assert Schedule.objects.count() == before
        return refused

    return act


faces = pytest.mark.parametrize("face", ["api", "form"])


@faces
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_cadence_that_cannot_be_used_is_refused_at_its_field(face, case, refuse, body, alice, limit):
    if face == "form" and case["id"] in NOT_BY_FORM:
        assert case["field"] not in as_form({**body, "cadence": {"kind": case["cadence"]["kind"]}})
        return
    limit(alice, min_interval_seconds=case.get("min_interval_minutes", 60) * 60)
    sent = {**body, "cadence": case["cadence"], "zone": case.get("zone", "UTC"), "name": "<Typed> & kept"}
    kind = case["cadence"]["kind"]
    path = "zone" if case["field"] == "zone" else f"cadence.{case['field']}"
    assert refuse(face, sent) == (case["code"], [field_of_path(path, kind)])


@faces
def test_an_unknown_agent_is_refused_at_the_agent(face, refuse, body):
    assert refuse(face, {**body, "agent": "agt_nobody"}) == ("agent_not_found", ["agent"])


@faces
def test_a_foreign_project_is_refused_at_the_project(face, refuse, body, bob, make_project):
    """P15."""
    project = make_project(owner=bob).public_id
    assert refuse(face, {**body, "project": project}) == ("project_not_found", ["project"])


@faces
def test_a_missing_prompt_is_refused_at_the_prompt(face, refuse, body):
    del body["prompt"]
    assert refuse(face, body) == ("required", ["prompt"])


@faces
def test_a_name_that_is_too_long_is_refused_at_the_name_and_kept_whole(face, refuse, body):
    """B83."""
    assert refuse(face, {**body, "name": "é" * 201}) == ("too_long", ["name"])


@pytest.mark.parametrize("fields", SCHEDULES, ids=lambda fields: fields["cadence"]["kind"])
def test_posting_the_page_of_an_edit_as_it_came_changes_nothing(client: Client, alice, created, fields):
    """B24: also for what was made by the API and no list of the form offers."""
    schedule = created(**fields)
    client.force_login(alice)
    address = reverse("schedules:edit", args=[schedule.public_id])
    form = PageForm(client.get(address).content.decode(), "schedule-form").posted
    before = columns(schedule)
    response = client.post(address, form)
    assert response.status_code in (204, 302, 303), response.content.decode()[:2000]
    assert columns(schedule) == before


def test_the_page_of_an_edit_has_the_fields_of_the_form(client: Client, alice, created):
    schedule = created()
    client.force_login(alice)
    page = client.get(reverse("schedules:edit", args=[schedule.public_id])).content.decode()
    assert set(body_to_form(schedule)) <= set(PageForm(page, "schedule-form").posted)
