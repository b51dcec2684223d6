"""`/api/v1/conversations` (wire.md)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from chats.models import Conversation, Message, Turn
from tests.factories import NOW, make_agent, make_conversation, make_project, make_run, make_schedule, make_turn
from tests.support.calls import caller, code_of, field_codes

URL = "/api/v1/conversations"


def test_a_conversation_is_made_read_changed_and_deleted(alice: Any):
    client = caller(alice)
    agent, project = make_agent(name="Helper"), make_project(owner=alice, name="Plans")
    body = {"title": " Notes ", "agent": agent.public_id, "project": project.public_id}
    made = client.post(URL, body, format="json")
    assert made.status_code == 201
    shown = made.json()
    address = f"{URL}/{shown['id']}"
    assert shown["title"] == "Notes"
    assert shown["project"] == {"id": project.public_id, "name": "Plans"}
    assert shown["agent"] == {"id": agent.public_id, "name": "Helper", "state": "ready"}
    assert (shown["origin"], shown["unread"], shown["pinned"], shown["archived"]) == ("person", False, False, False)
    assert client.get(address).json() == shown
    changed = client.patch(address, {"pinned": True, "unread": True}, format="json").json()
    assert changed == shown | {"pinned": True, "unread": True}
    loose = client.patch(address, {"project": None}, format="json").json()
    assert (loose["project"], loose["title"]) == (None, "Notes")
    assert client.delete(address).status_code == 204
    assert code_of(client.get(address)) == "not_found"


def test_what_a_body_names_must_be_ones_own(alice: Any, bob: Any):
    """P15"""
    client = caller(alice)
    theirs, agent = make_project(owner=bob), make_agent(owner=bob)
    answer = client.post(URL, {"title": "x", "project": theirs.public_id}, format="json")
    assert (answer.status_code, field_codes(answer)) == (400, {"project": ["project_not_found"]})
    answer = client.post(URL, {"title": "x", "agent": agent.public_id}, format="json")
    assert (answer.status_code, field_codes(answer)) == (400, {"agent": ["agent_not_found"]})
    mine = make_conversation(owner=alice)
    answer = client.patch(f"{URL}/{mine.public_id}", {"project": theirs.public_id}, format="json")
    assert field_codes(answer) == {"project": ["project_not_found"]}
    answer = client.patch(f"{URL}/{mine.public_id}", {"origin": "timer", "title": 1}, format="json")
    assert field_codes(answer) == {"origin": ["unknown_field"], "title": ["wrong_type"]}


def test_a_repeated_create_is_one_conversation(alice: Any):
    client = caller(alice)
    answers = [client.post(URL, {"title": "x"}, format="json", HTTP_IDEMPOTENCY_KEY="k") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert Conversation.objects.count() == 1
    client.delete(f"{URL}/{answers[0].json()['id']}")
    assert code_of(client.post(URL, {"title": "x"}, format="json", HTTP_IDEMPOTENCY_KEY="k")) == "gone"


def test_lists_are_newest_first_and_filtered(alice: Any, bob: Any, django_assert_max_num_queries: Any):
    client = caller(alice)
    project = make_project(owner=alice)
    old = make_conversation(owner=alice, title="Breakfast", project=project, unread=True)
    new = make_conversation(owner=alice, title="Lunch", origin="schedule", updated_at=NOW + timedelta(hours=1))
    Message.objects.create(conversation=new, sequence=1, role="user", text="and breakfast", created_at=NOW)

    def ids(query: str = "") -> list[str]:
        return [shown["id"] for shown in client.get(URL + query).json()["results"]]

    with django_assert_max_num_queries(3):
        assert ids() == [new.public_id, old.public_id]
    assert ids(f"?project={project.public_id}") == [old.public_id]
    assert ids("?project=none") == [new.public_id]
    assert ids("?origin=schedule") == [new.public_id]
    assert ids("?unread=true") == [old.public_id]
    assert ids("?unread=false") == [new.public_id]
    assert ids("?q=breakfast") == [new.public_id, old.public_id]
    assert ids("?q=breakfast&unread=true") == [old.public_id]
    assert field_codes(client.get(f"{URL}?origin=moon")) == {"origin": ["choice_unknown"]}
    theirs = make_project(owner=bob).public_id
    assert field_codes(client.get(f"{URL}?project={theirs}")) == {"project": ["project_not_found"]}


def test_the_name_of_a_deleted_project_is_not_shown(alice: Any):
    project = make_project(owner=alice, deleted_at=NOW, name="")
    conversation = make_conversation(owner=alice, project=project)
    assert caller(alice).get(f"{URL}/{conversation.public_id}").json()["project"] is None


def test_messages_are_oldest_first_in_the_wires_shape(alice: Any):
    conversation = make_conversation(owner=alice)
    turn = make_turn(owner=alice, conversation=conversation)
    common = {"conversation": conversation, "turn": turn, "created_at": NOW}
    Message.objects.create(sequence=2, role="assistant", text="Mor", state="streaming", model_messages="{}", **common)
    first = Message.objects.create(sequence=1, role="user", text="Hello", source={"kind": "person"}, **common)
    listed = caller(alice).get(f"{URL}/{conversation.public_id}/messages").json()["results"]
    assert listed[0] == {
        "id": first.public_id,
        "sequence": 1,
        "turn": turn.public_id,
        "role": "user",
        "text": "Hello",
        "parts": [],
        "source": {"kind": "person"},
        "state": "complete",
        "created_at": "2026-06-01T08:00:00Z",
    }
    assert [shown["state"] for shown in listed] == ["complete", "streaming"]


def test_turns_name_the_run_that_caused_them(alice: Any, django_assert_max_num_queries: Any):
    schedule = make_schedule(owner=alice)
    conversation = make_conversation(owner=alice)
    done: dict[str, Any] = {"status": "failed", "settled_at": NOW, "error_code": "deadline"}
    turn = make_turn(owner=alice, conversation=conversation, origin="schedule", started_at=NOW, **done)
    run = make_run(schedule=schedule, turn=turn, conversation=conversation, status="timed_out")
    make_turn(owner=alice, conversation=conversation)
    client = caller(alice)
    with django_assert_max_num_queries(5):
        listed = client.get(f"{URL}/{conversation.public_id}/turns").json()["results"]
    assert listed[0] == {
        "id": turn.public_id,
        "origin": "schedule",
        "run": run.public_id,
        "status": "failed",
        "code": "deadline",
        "started_at": "2026-06-01T08:00:00Z",
        "settled_at": "2026-06-01T08:00:00Z",
    }
    assert (listed[1]["run"], listed[1]["code"]) == (None, None)


def test_a_turn_is_stopped_once_and_again_without_harm(alice: Any):
    conversation = make_conversation(owner=alice)
    turn = make_turn(
        owner=alice, conversation=conversation, status="running", fence=1, leased_by="w", leased_at=NOW,
        lease_expires_at=NOW + timedelta(minutes=1),
    )  # fmt: skip
    address = f"{URL}/{conversation.public_id}/turns/{turn.public_id}/stop"
    client = caller(alice)
    first = client.post(address)
    assert (first.status_code, first.json()["status"]) == (202, "running")
    asked = Turn.objects.get(pk=turn.pk).stop_requested_at
    assert asked is not None
    assert client.post(address, {}, format="json").status_code == 202
    assert Turn.objects.get(pk=turn.pk).stop_requested_at == asked
    assert field_codes(client.post(address, {"why": "x"}, format="json")) == {"why": ["unknown_field"]}


def test_a_turn_that_waits_is_stopped_at_once(alice: Any):
    conversation = make_conversation(owner=alice)
    turn = make_turn(owner=alice, conversation=conversation)
    answer = caller(alice).post(f"{URL}/{conversation.public_id}/turns/{turn.public_id}/stop")
    assert (answer.json()["status"], answer.json()["code"]) == ("stopped", "stopped_by_owner")


def test_a_turn_of_another_conversation_is_not_there(alice: Any):
    """M5"""
    one, other = make_conversation(owner=alice), make_conversation(owner=alice)
    turn = make_turn(owner=alice, conversation=one)
    answer = caller(alice).post(f"{URL}/{other.public_id}/turns/{turn.public_id}/stop")
    assert (answer.status_code, code_of(answer)) == (404, "not_found")
