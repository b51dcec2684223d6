"""`/api/v1/projects` and `/api/v1/limits` (wire.md)."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.services.limits import limits_set
from projects.models import ChatProject
from projects.services import policy_set, project_delete
from tests.factories import NOW, make_conversation, make_project, make_schedule
from tests.support.calls import caller, code_of, field_codes

URL = "/api/v1/projects"


def test_a_project_is_made_read_changed_and_deleted(alice: Any):
    client = caller(alice)
    made = client.post(URL, {"name": " Plans ", "description": "All of them"}, format="json")
    assert made.status_code == 201
    shown = made.json()
    assert set(shown) == {
        "id", "name", "description", "colour", "archived", "conversation_count", "schedule_count", "created_at", "updated_at",
    }  # fmt: skip
    assert (shown["name"], shown["archived"], shown["colour"]) == ("Plans", False, 1)
    address = f"{URL}/{shown['id']}"
    assert client.get(address).json() == shown
    changed = client.patch(address, {"archived": True}, format="json").json()
    assert changed | {"archived": False, "updated_at": shown["updated_at"]} == shown
    assert client.delete(address).status_code == 204
    assert code_of(client.get(address)) == "not_found"
    assert code_of(client.delete(address)) == "not_found"


def test_a_patch_of_nothing_changes_nothing(alice: Any):
    project = make_project(owner=alice)
    shown = caller(alice).patch(f"{URL}/{project.public_id}", {}, format="json").json()
    assert shown["updated_at"] == "2026-06-01T08:00:00Z"


def test_lists_are_by_name_filtered_and_counted(alice: Any, django_assert_max_num_queries: Any):
    client = caller(alice)
    for name in ("beta", "Alpha", "gamma"):
        client.post(URL, {"name": name}, format="json")
    beta = ChatProject.objects.get(name="beta")
    make_conversation(owner=alice, project=beta)
    make_schedule(owner=alice, project=beta)
    client.patch(f"{URL}/{beta.public_id}", {"archived": True}, format="json")
    with django_assert_max_num_queries(5):
        listed = client.get(URL).json()["results"]
    assert [shown["name"] for shown in listed] == ["Alpha", "beta", "gamma"]
    assert [(shown["conversation_count"], shown["schedule_count"]) for shown in listed] == [(0, 0), (1, 1), (0, 0)]
    assert [shown["name"] for shown in client.get(f"{URL}?archived=false").json()["results"]] == ["Alpha", "gamma"]
    assert [shown["name"] for shown in client.get(f"{URL}?q=ALPH").json()["results"]] == ["Alpha"]
    assert field_codes(client.get(f"{URL}?archived=perhaps")) == {"archived": ["choice_unknown"]}


def test_a_repeated_create_is_one_project_whatever_happened_meanwhile(alice: Any):
    """P7, B87"""
    client = caller(alice)
    first = client.post(URL, {"name": "Plans"}, format="json", HTTP_IDEMPOTENCY_KEY="k")
    second = client.post(URL, {"name": "Plans"}, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert "Idempotent-Replayed" not in first
    assert (second.status_code, second["Idempotent-Replayed"]) == (201, "true")
    assert second.json() == first.json()
    assert ChatProject.objects.count() == 1
    other = client.post(URL, {"name": "Other"}, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert (other.status_code, code_of(other)) == (409, "idempotency_conflict")
    project_delete(project=ChatProject.objects.get(), now=NOW)
    gone = client.post(URL, {"name": "Plans"}, format="json", HTTP_IDEMPOTENCY_KEY="k")
    assert (gone.status_code, code_of(gone)) == (410, "gone")


def test_without_a_key_every_post_is_a_new_act(alice: Any):
    client = caller(alice)
    assert client.post(URL, {"name": "Plans"}, format="json").status_code == 201
    assert field_codes(client.post(URL, {"name": "Plans"}, format="json")) == {"name": ["name_taken"]}


def test_a_key_of_more_than_128_characters_is_refused(alice: Any):
    for key in ("", "x" * 129):
        answer = caller(alice).post(URL, {"name": "Plans"}, format="json", HTTP_IDEMPOTENCY_KEY=key)
        assert field_codes(answer) == {"Idempotency-Key": ["out_of_range"]}


def test_deleting_says_where_the_schedules_go(alice: Any, bob: Any):
    old, new, theirs = make_project(owner=alice), make_project(owner=alice), make_project(owner=bob)
    schedule = make_schedule(owner=alice, project=old, armed=True)
    client = caller(alice)
    refused = client.delete(f"{URL}/{old.public_id}?move_to={theirs.public_id}")
    assert field_codes(refused) == {"move_to": ["project_not_found"]}
    assert field_codes(client.delete(f"{URL}/{old.public_id}?to=x")) == {"to": ["filter_unknown"]}
    assert client.delete(f"{URL}/{old.public_id}?move_to={new.public_id}").status_code == 204
    schedule.refresh_from_db()
    assert schedule.project_id == new.pk
    assert client.delete(f"{URL}/{new.public_id}?move_to=none").status_code == 204
    schedule.refresh_from_db()
    assert schedule.project_id is None


def test_a_pinned_project_answers_409(alice: Any):
    project = make_project(owner=alice, name="Inbox", name_key="inbox")
    policy_set(scope="deployment", values={"pinned_project": "Inbox"}, now=NOW)
    client = caller(alice)
    for answer in (
        client.delete(f"{URL}/{project.public_id}"),
        client.patch(f"{URL}/{project.public_id}", {"name": "x"}, format="json"),
        client.patch(f"{URL}/{project.public_id}", {"archived": True}, format="json"),
    ):
        assert (answer.status_code, code_of(answer)) == (409, "project_pinned")


@pytest.mark.parametrize("scope", ["conversations:read", "schedules:read", "schedules:write"])
def test_projects_are_read_by_whoever_files_or_reads_conversations_or_schedules(scope: str, alice: Any):
    assert caller(alice, scope).get(URL).status_code == 200
    assert code_of(caller(alice, "runs:read").get(URL)) == "scope_missing"


def test_limits_show_every_name_with_its_source(alice: Any):
    """P14"""
    project = make_project(owner=alice, name="Inbox", name_key="inbox")
    make_schedule(owner=alice)
    make_schedule(owner=alice, completed_at=NOW)
    limits_set(scope="user", user=alice, values={"max_schedules": 3}, now=NOW)
    policy_set(scope="deployment", values={"require_project": True, "pinned_project": "Inbox"}, now=NOW)
    shown = caller(alice, "runs:read").get("/api/v1/limits").json()
    assert shown["max_schedules"] == {"value": 3, "source": "user"}
    assert shown["min_interval_seconds"] == {"value": 3600, "source": "default"}
    assert shown["monthly_spend"] == {"value": None, "source": "default"}
    assert shown["require_project"] == {"value": True, "source": "deployment"}
    assert shown["pinned_project"] == {"value": {"id": project.public_id, "name": "Inbox"}, "source": "deployment"}
    assert shown["used_schedules"] == 1


def test_a_pin_that_the_owner_does_not_have_is_shown_by_its_name(alice: Any):
    policy_set(scope="deployment", values={"pinned_project": "Inbox"}, now=NOW)
    shown = caller(alice).get("/api/v1/limits").json()
    assert shown["pinned_project"]["value"] == {"id": None, "name": "Inbox"}
