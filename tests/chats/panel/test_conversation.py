"""The conversation page: a thread as it grows, what became of a turn, and what its owner does with it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chats.models import Conversation, Message, Turn, WorkerHost
from core.clock import now as clock_now
from core.human import Reader
from tests.schedules.panel.pages import FRAGMENT, signed_in, words


@pytest.fixture
def moment(db: None) -> Any:
    return clock_now()


@pytest.fixture
def thread(alice: Any, make_conversation: Any, make_turn: Any, make_agent: Any, moment: Any) -> Any:
    """A conversation of Alice with one turn: what was asked, and an answer in the state that is asked for."""
    WorkerHost.objects.create(name="host", hostname="host", started_at=moment, clock_at=moment)

    def made(text: str, *, state: str = "complete", source: dict[str, str] | None = None, **turn_fields: Any) -> Any:
        conversation = make_conversation(
            owner=alice, title="Briefing · 2026-06-01 08:00", origin="schedule", now=moment
        )
        fields = {"status": "completed", "settled_at": moment, **turn_fields}
        turn = make_turn(
            owner=alice, agent=make_agent(), origin="schedule", conversation=conversation, now=moment, **fields
        )
        common = {"conversation": conversation, "turn": turn, "created_at": moment}
        Message.objects.create(sequence=1, role="user", text="What is new?", **common)
        if text or state == "streaming":
            Message.objects.create(
                sequence=2, role="assistant", text=text, state=state, source=source or {"agent": "Researcher"}, **common
            )
        return conversation

    return made


RUNNING = {"status": "running", "settled_at": None, "fence": 1, "leased_by": "w"}


def running(moment: Any) -> dict[str, Any]:
    return {**RUNNING, "lease_expires_at": moment + timedelta(minutes=1), "started_at": moment}


def opened(user: Any, conversation: Conversation) -> str:
    return signed_in(user).get(f"/c/{conversation.public_id}").content.decode()


def test_an_answer_is_rendered_and_nothing_in_it_acts(alice, thread):
    """quality.md, Security: text"""
    page = opened(alice, thread("**Two** releases.\n\n<script>alert(1)</script> ![x](https://example.org/x.png)"))
    assert "<strong>Two</strong> releases." in page
    assert "<script>alert" not in page
    assert 'src="https://example.org' not in page
    assert '<a href="https://example.org/x.png" rel="noopener nofollow">x</a>' in page


def test_what_was_asked_and_who_answered_is_named(alice, thread):
    said = words(opened(alice, thread("Nothing new.")))
    assert "Schedule" in said
    assert "What is new?" in said
    assert "Researcher" in said


@pytest.mark.parametrize(("kind", "label"), [("demo", "demo"), ("local", "small local model"), ("openai", "")])
def test_an_answer_that_no_added_provider_gave_is_labelled(alice, thread, kind, label):
    page = opened(alice, thread("Hello.", source={"kind": kind, "agent": "Assistant", "model": "m"}))
    assert ("data-label" in page.split('class="talk"')[1]) is bool(label)
    assert label in words(page)


def test_a_growing_answer_is_busy_can_be_stopped_and_is_looked_at_each_second(alice, thread, moment):
    """design, htmx: growing text."""
    conversation = thread("Two of the nine", state="streaming", **running(moment))
    page = opened(alice, conversation)
    assert re.search(r'<article class="msg" id="msg_\w+" data-v="\w+" aria-busy="true">', page)
    assert 'Two of the nine<span class="caret"></span>' in page
    assert 'data-every="1"' in page
    assert 'id="stop"' in page


def test_a_look_gets_only_what_grew(alice, thread, moment):
    conversation = thread("Two", state="streaming", **running(moment))
    client, address = signed_in(alice), f"/c/{conversation.public_id}"
    page = client.get(address).content.decode()
    have = ".".join(re.findall(r'data-v="(\w+)"', page))
    Message.objects.filter(conversation=conversation, role="assistant").update(text="Two of the nine")
    update = client.get(address, {"have": have}, headers=FRAGMENT).content.decode()
    assert update.count("data-keep") == 1
    assert "Two of the nine" in update
    assert 'id="talk-head" hx-swap-oob="morph"' in update


def test_a_look_at_what_did_not_grow_reads_and_renders_nothing(alice, thread, moment, monkeypatch):
    """design, htmx: growing text; the look of each second is answered from lengths and counters."""
    conversation = thread("Two", state="streaming", **running(moment))
    Conversation.objects.filter(pk=conversation.pk).update(unread=True)
    client, address = signed_in(alice), f"/c/{conversation.public_id}"
    monkeypatch.setattr("chats.panel.views.reader_of", lambda request: Reader(moment))
    etag = client.get(address)["ETag"]

    with monkeypatch.context() as patched, CaptureQueriesContext(connection) as asked:
        patched.setattr("chats.panel.pages.render", lambda text: pytest.fail("rendered"))
        same = client.get(address, headers=FRAGMENT | {"If-None-Match": etag})
    assert (same.status_code, same["Quotidian-Every"]) == (304, "1")
    messages = [query["sql"] for query in asked if "chats_message" in query["sql"]]
    assert len(messages) == 1
    assert "model_messages" not in messages[0]
    Message.objects.filter(conversation=conversation, role="assistant").update(text="Two of the nine")
    with CaptureQueriesContext(connection) as asked:
        grown = client.get(address, headers=FRAGMENT | {"If-None-Match": etag})
    assert grown.status_code == 200
    assert not any("model_messages" in query["sql"] for query in asked)


def test_a_look_notices_a_stop_a_project_and_the_end(alice, thread, moment, make_project, monkeypatch):
    conversation = thread("Two", state="streaming", **running(moment))
    client, address = signed_in(alice), f"/c/{conversation.public_id}"
    monkeypatch.setattr("chats.panel.views.reader_of", lambda request: Reader(moment))
    project = make_project(owner=alice, name="Shop")
    talks, turns = Conversation.objects.filter(pk=conversation.pk), Turn.objects.filter(conversation=conversation)
    etags = [client.get(address)["ETag"]]
    for change in (
        lambda: turns.update(stop_requested_at=moment),
        lambda: talks.update(project=project),
        lambda: type(project).objects.filter(pk=project.pk).update(name="Store"),
        lambda: turns.update(status="stopped", settled_at=moment, error_code="stopped_by_owner"),
    ):
        change()
        etags.append(client.get(address, headers=FRAGMENT | {"If-None-Match": etags[-1]})["ETag"])
    assert len(set(etags)) == 5


def test_a_finished_answer_is_announced_once_and_no_longer_busy(alice, thread):
    page = opened(alice, thread("Done."))
    assert 'data-said="Researcher has answered"' in page
    assert "aria-busy" not in page.split('id="thread"')[1]
    assert 'id="stop"' not in page


@pytest.mark.parametrize(
    ("code", "params", "status", "text", "said"),
    [
        ("stopped_by_owner", {}, "stopped", "Two", "You stopped it. What was written is kept."),
        ("deadline", {"minutes": 10}, "failed", "Two", "No end within 10 minutes."),
        ("empty_answer", {}, "completed", "", "The model finished without an answer."),
        ("provider_auth", {}, "failed", "", "The provider refused the key."),
    ],
)
def test_an_end_that_is_no_plain_answer_is_said_in_a_sentence(alice, thread, code, params, status, text, said):
    conversation = thread(text, state="partial", status=status, error_code=code, error_params=params)
    page = opened(alice, conversation)
    assert said in words(page)
    assert f'data-code="{code}"' in page
    assert ("not finished" in words(page)) is bool(text)


def test_opening_it_marks_it_as_read_once_it_is_finished(alice, thread, moment):
    conversation = thread("Done.")
    Conversation.objects.filter(pk=conversation.pk).update(unread=True)
    opened(alice, conversation)
    assert not Conversation.objects.get(pk=conversation.pk).unread
    growing = thread("Two", state="streaming", **running(moment))
    Conversation.objects.filter(pk=growing.pk).update(unread=True)
    opened(alice, growing)
    assert Conversation.objects.get(pk=growing.pk).unread


def test_the_badge_names_the_run_its_schedule_and_the_runs_around_it(alice, thread, make_schedule, make_run, moment):
    """interfaces.md: origin badge"""
    schedule = make_schedule(owner=alice, name="Morning briefing", now=moment)
    conversations = [thread(f"Answer {number}") for number in range(3)]
    for number, conversation in enumerate(conversations):
        make_run(schedule=schedule, conversation=conversation, now=moment - timedelta(days=3 - number))
    page = opened(alice, conversations[1])
    badge = page.split('class="origin"')[1].split("</header>")[0]
    assert "Run of" in words(badge)
    assert f'href="/schedules/{schedule.public_id}/"' in badge
    assert f'href="/c/{conversations[0].public_id}">Previous:' in badge
    assert f'href="/c/{conversations[2].public_id}">Next:' in badge
    assert f"/schedules/{schedule.public_id}/edit" in badge


def test_a_run_whose_schedule_is_gone_says_so(alice, thread, make_schedule, make_run, moment):
    schedule = make_schedule(owner=alice, name="Gone", deleting_at=moment, now=moment)
    conversation = thread("Answer")
    make_run(schedule=schedule, conversation=conversation, now=moment)
    assert "(deleted schedule)" in words(opened(alice, conversation))


def test_stop_asks_the_turn_to_stop(alice, thread, moment):
    conversation = thread("Two", state="streaming", **running(moment))
    turn = Turn.objects.get(conversation=conversation)
    response = signed_in(alice).post(f"/c/{conversation.public_id}/turns/{turn.public_id}/stop")
    assert response["Location"] == f"/c/{conversation.public_id}"
    turn.refresh_from_db()
    assert turn.stop_requested_at is not None


def test_move_files_it_and_rename_renames_it(alice, thread, make_project):
    conversation, project = thread("Answer"), make_project(owner=alice, name="Shop")
    client = signed_in(alice)
    assert "Shop" in client.get(f"/c/{conversation.public_id}/move").content.decode()
    client.post(f"/c/{conversation.public_id}/move", {"project": project.public_id})
    client.post(f"/c/{conversation.public_id}/rename", {"title": "Another title"})
    conversation.refresh_from_db()
    assert (conversation.project, conversation.title) == (project, "Another title")
    client.post(f"/c/{conversation.public_id}/move", {"project": ""})
    conversation.refresh_from_db()
    assert conversation.project is None


def test_it_is_not_filed_into_somebody_elses_project(alice, bob, thread, make_project):
    """P15"""
    conversation, project = thread("Answer"), make_project(owner=bob)
    response = signed_in(alice).post(f"/c/{conversation.public_id}/move", {"project": project.public_id})
    assert response.status_code == 400
    conversation.refresh_from_db()
    assert conversation.project is None


def test_an_empty_title_stands_at_its_field(alice, thread):
    conversation = thread("Answer")
    response = signed_in(alice).post(f"/c/{conversation.public_id}/rename", {"title": " "})
    assert response.status_code == 400
    assert 'id="title-e" data-code="required"' in response.content.decode()


def test_delete_asks_first_and_then_leaves_for_the_list(alice, thread):
    conversation = thread("Secret answer")
    client = signed_in(alice)
    assert "Everything said in it goes." in client.get(f"/c/{conversation.public_id}/delete").content.decode()
    response = client.post(f"/c/{conversation.public_id}/delete", headers=FRAGMENT)
    assert response["HX-Redirect"] == "/c/"
    assert client.get(f"/c/{conversation.public_id}").status_code == 404
    assert not Message.objects.filter(conversation=conversation).exists()


def test_the_list_shows_the_newest_first_with_the_beginning_of_the_answer(alice, thread):
    first, second = thread("Old answer"), thread("# New answer")
    Conversation.objects.filter(pk=first.pk).update(updated_at=clock_now() - timedelta(days=1))
    Conversation.objects.filter(pk=second.pk).update(unread=True)
    page = signed_in(alice).get("/c/").content.decode()
    assert page.index(second.public_id) < page.index(first.public_id)
    assert "New answer" in words(page)
    assert "New. " in words(page)
    found = signed_in(alice).get("/c/", {"q": "old answer"}).content.decode()
    assert first.public_id in found
    assert second.public_id not in found
