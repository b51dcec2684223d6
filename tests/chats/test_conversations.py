"""What an owner does with conversations (conversations.md, M8; B83)."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from chats.models import Conversation, Message, Turn, TurnAttempt
from chats.selectors.conversations import conversation_find, conversations_matching, run_ids
from chats.services import turns_settle as turns_settle_module
from chats.services.conversations import (
    conversation_create,
    conversation_delete,
    conversation_edit,
    conversation_move,
    conversation_read,
    conversation_rename,
)
from core.errors import Refusal
from projects.services import project_delete
from schedules.models import Run
from tests.factories import NOW, make_conversation, make_project, make_run, make_schedule, make_turn
from tests.support.engine import at_once

LATER = NOW + timedelta(hours=1)
FAMILY = "👨‍👩‍👧‍👦"


def say(conversation: Conversation, text: str, **fields: Any) -> Message:
    sequence = conversation.messages.count() + 1
    given = {"role": "user", "sequence": sequence, "text": text, "created_at": NOW}
    return Message.objects.create(conversation=conversation, **(given | fields))


def code(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(Refusal) as caught:
        call(**arguments)
    return caught.value.code, caught.value.fields[0].path if caught.value.fields else ""


@pytest.mark.parametrize("title", ["a" * 199 + FAMILY, "مواعيد اليوم", "सुबह की सूची"])
def test_titles_are_kept_whole(title: str, alice: Any):
    """B83"""
    conversation = conversation_create(owner=alice, title=f" {title} ", now=NOW)
    conversation.refresh_from_db()
    assert (conversation.title, conversation.origin) == (title, "person")


@pytest.mark.parametrize(("title", "expected"), [(" ", "required"), ("a" * 201, "too_long"), ("a\x00", "wrong_type")])
def test_a_title_that_cannot_be_is_refused(title: str, expected: str, alice: Any):
    assert code(conversation_create, owner=alice, title=title, now=NOW) == (expected, "title")
    conversation = make_conversation(owner=alice)
    assert code(conversation_rename, conversation=conversation, title=title, now=NOW) == (expected, "title")


def test_an_edit_names_its_columns_and_tells_open_pages(alice: Any):
    """T15: the change counter."""
    conversation = make_conversation(owner=alice, title="Old", pinned=False)
    Conversation.objects.filter(pk=conversation.pk).update(pinned=True, changes=5)
    conversation_rename(conversation=conversation, title="New", now=LATER)
    conversation.refresh_from_db()
    assert (conversation.title, conversation.pinned, conversation.changes) == ("New", True, 6)
    assert conversation.updated_at == LATER


def test_an_edit_that_changes_nothing_writes_nothing(alice: Any):
    conversation = make_conversation(owner=alice, title="Old", unread=False)
    conversation_edit(conversation=conversation, values={"title": " Old ", "unread": False}, now=LATER)
    conversation.refresh_from_db()
    assert (conversation.changes, conversation.updated_at) == (0, NOW)


def test_reading_or_pinning_makes_nothing_newer(alice: Any):
    conversation = make_conversation(owner=alice, unread=True)
    conversation_read(conversation=conversation, now=LATER)
    conversation_edit(conversation=conversation, values={"pinned": True}, now=LATER)
    conversation.refresh_from_db()
    assert (conversation.unread, conversation.pinned, conversation.updated_at) == (False, True, NOW)


def test_a_conversation_moves_among_projects_of_its_owner_alone(alice: Any, bob: Any):
    conversation = make_conversation(owner=alice)
    project = make_project(owner=alice)
    assert conversation_move(conversation=conversation, project=project, now=LATER).project == project
    assert conversation_move(conversation=conversation, project=None, now=LATER).project is None
    for target in (make_project(owner=bob), make_project(owner=alice, archived_at=NOW)):
        refused = code(conversation_move, conversation=conversation, project=target, now=LATER)
        assert refused == ("project_not_found", "project")


def test_a_project_that_was_deleted_meanwhile_takes_nothing(alice: Any):
    """P15: what counts is the project at the write, not as it was read before."""
    conversation, project = make_conversation(owner=alice), make_project(owner=alice)
    project_delete(project=project, now=NOW)
    assert project.deleted_at is None
    refused = ("project_not_found", "project")
    assert code(conversation_create, owner=alice, title="New", project=project, now=LATER) == refused
    assert code(conversation_move, conversation=conversation, project=project, now=LATER) == refused
    assert Conversation.objects.filter(project=project).count() == 0


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ["create", "move"])
def test_nothing_is_filed_into_a_project_that_is_being_deleted(act: str, monkeypatch: pytest.MonkeyPatch, alice: Any):
    """P15; lock order: owner, project, conversation."""
    conversation, project = make_conversation(owner=alice), make_project(owner=alice)
    deleting, filing = threading.Event(), threading.Event()

    def slow(**_: Any) -> None:
        deleting.set()
        filing.wait(0.5)

    def file() -> str:
        deleting.wait(10)
        try:
            if act == "create":
                conversation_create(owner=alice, title="New", project=project, now=LATER)
            else:
                conversation_move(conversation=conversation, project=project, now=LATER)
        except Refusal as refusal:
            return refusal.code
        finally:
            filing.set()
        return "filed"

    monkeypatch.setattr("projects.services.projects.made_gone", slow)
    _, answer = at_once([lambda: project_delete(project=project, now=NOW), file])
    assert answer in ("project_not_found", "validation_failed")
    assert Conversation.objects.filter(project=project).count() == 0


def test_an_archived_project_that_it_is_in_already_may_be_sent_again(alice: Any):
    """P2"""
    project = make_project(owner=alice, archived_at=NOW)
    conversation = make_conversation(owner=alice, project=project)
    conversation_edit(conversation=conversation, values={"project": project, "title": "New"}, now=LATER)
    conversation.refresh_from_db()
    assert (conversation.project, conversation.title) == (project, "New")


def test_a_deleted_conversation_leaves_nothing_that_was_said(alice: Any):
    """M8, A6"""
    project = make_project(owner=alice)
    conversation = make_conversation(owner=alice, title="Secret title", project=project)
    say(conversation, "Secret question")
    conversation_delete(conversation=conversation, now=LATER)
    assert not Message.objects.exists()
    stored = Conversation.objects.filter(pk=conversation.pk).values().get()
    assert "ecret" not in str(stored)
    assert (stored["deleted_at"], stored["project_id"]) == (LATER, None)
    assert conversation_find(alice, conversation.public_id) is None
    assert code(conversation_delete, conversation=conversation, now=LATER) == ("not_found", "")
    assert code(conversation_rename, conversation=conversation, title="x", now=LATER) == ("not_found", "")


@pytest.fixture
def running(alice: Any) -> Run:
    """A run whose turn streams into its conversation, leased by a live worker."""
    schedule = make_schedule(owner=alice, armed=True)
    conversation = make_conversation(owner=alice, origin="schedule")
    turn = make_turn(
        owner=alice, agent=schedule.agent, conversation=conversation, origin="schedule", status="running", fence=3,
        leased_by="w", leased_at=NOW, lease_expires_at=NOW + timedelta(minutes=1), started_at=NOW,
    )  # fmt: skip
    TurnAttempt.objects.create(turn=turn, number=1, fence=3, started_at=NOW, dispatched_at=NOW)
    say(conversation, "Say good morning.", turn=turn)
    say(conversation, "Good mor", turn=turn, role="assistant", state="streaming", fence=3)
    return make_run(schedule=schedule, status="running", turn=turn, conversation=conversation, started_at=NOW)


def test_the_active_turn_is_stopped_first_and_writes_nothing_afterwards(running: Run):
    """M8: run `stopped: conversation_deleted`."""
    assert running.conversation is not None and running.turn is not None
    conversation_delete(conversation=running.conversation, now=LATER)
    running.refresh_from_db()
    turn = Turn.objects.get(pk=running.turn.pk)
    assert (running.status, running.reason) == ("stopped", "conversation_deleted")
    assert (turn.status, turn.error_code, turn.settled_at) == ("stopped", "conversation_deleted", LATER)
    attempt = TurnAttempt.objects.get()
    assert (attempt.outcome, attempt.ended_at) == ("stopped", LATER)

    from chats.services.turns_settle import Ended, turns_settle

    late = Ended(turn.pk, 3, "answered", "Good morning, secretly.")
    assert turns_settle(ends=[late], now=LATER) == set()
    assert not Message.objects.exists()
    running.refresh_from_db()
    assert running.status == "stopped"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_delete_that_meets_the_settle_of_its_turn_waits_for_it(monkeypatch: pytest.MonkeyPatch, running: Run):
    """M8; lock order: conversation, turn. Whoever comes second finds the turn ended."""
    held, real = threading.Event(), turns_settle_module._held

    def slow(ends: Any) -> Any:
        rows = real(ends)
        if not held.is_set():
            held.set()
            threading.Event().wait(0.4)
        return rows

    def delete() -> None:
        held.wait(10)
        conversation_delete(conversation=running.conversation, now=LATER)

    monkeypatch.setattr(turns_settle_module, "_held", slow)
    end = turns_settle_module.Ended(running.turn_id or 0, 3, "answered", "Good morning.")
    settled, _ = at_once([lambda: turns_settle_module.turns_settle(ends=[end], now=LATER), delete])
    running.refresh_from_db()
    assert (settled, running.status) == ({running.turn_id}, "succeeded")
    assert not Message.objects.exists()


def test_a_turn_in_a_retry_wait_ends_with_its_conversation(running: Run):
    Turn.objects.filter(run=running).update(status="queued", lease_expires_at=None, leased_by="")
    Run.objects.filter(pk=running.pk).update(status="queued")
    assert running.conversation is not None
    conversation_delete(conversation=running.conversation, now=LATER)
    running.refresh_from_db()
    assert (running.status, running.reason) == ("stopped", "conversation_deleted")
    assert not Message.objects.exists()


def test_a_failure_leaves_everything_as_it_was(running: Run, monkeypatch: pytest.MonkeyPatch):
    """M8: a failure fails the act."""

    def broken(**_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("chats.services.conversations.made_gone", broken)
    assert running.conversation is not None
    with pytest.raises(ZeroDivisionError):
        conversation_delete(conversation=running.conversation, now=LATER)
    running.refresh_from_db()
    assert running.status == "running"
    assert Message.objects.count() == 2


def test_search_reads_titles_and_everything_said(alice: Any, bob: Any):
    titled = make_conversation(owner=alice, title="Breakfast plans")
    spoken = make_conversation(owner=alice, title="Other")
    say(spoken, "Eggs for BREAKFAST.")
    say(make_conversation(owner=bob), "breakfast")
    say(make_conversation(owner=alice, deleted_at=NOW), "breakfast")
    assert set(conversations_matching(alice, text="breakfast")) == {titled, spoken}


def test_turns_know_the_run_that_caused_them(running: Run, django_assert_num_queries: Any):
    other = make_turn(owner=running.owner)
    assert running.turn is not None
    with django_assert_num_queries(1):
        assert run_ids([running.turn, other]) == {running.turn.pk: running.public_id}
