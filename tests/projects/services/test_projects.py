"""What an owner does with projects (projects.md)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from chats.models import Conversation
from core.errors import Refusal
from projects.models import ChatProject
from projects.selectors import filed_counts, filed_names, project_find
from projects.services import policy_set, project_archive, project_create, project_delete, project_edit
from schedules.models import Schedule
from tests.factories import NOW, make_conversation, make_project, make_schedule
from tests.support.engine import begin, queued_run

LATER = NOW + timedelta(hours=1)
FAMILY = "👨‍👩‍👧‍👦"


def code(call: Any, **arguments: Any) -> tuple[str, int]:
    with pytest.raises(Refusal) as caught:
        call(**arguments)
    return caught.value.code, caught.value.status


@pytest.mark.parametrize("name", ["a" * 99 + FAMILY, FAMILY * 100, "مشروع", "परियोजना " * 9])
def test_names_are_kept_whole_up_to_a_hundred_characters(name: str, alice: Any):
    """B83"""
    project = project_create(owner=alice, name=f"  {name} ", now=NOW)
    project.refresh_from_db()
    assert project.name == name.strip()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": " "}, "required"),
        ({"name": "a" * 101}, "too_long"),
        ({"name": FAMILY * 101}, "too_long"),
        ({"name": "a\x00"}, "wrong_type"),
        ({"name": "a", "description": "x" * 1001}, "too_long"),
        ({"name": "a", "colour": 9}, "out_of_range"),
        ({"name": "PLANS "}, "name_taken"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_never_cut(fields: dict[str, Any], expected: str, alice: Any):
    project_create(owner=alice, name="Plans", now=NOW)
    assert code(project_create, owner=alice, now=NOW, **fields) == (expected, 400)
    assert ChatProject.objects.count() == 1


def test_names_are_unique_per_owner_and_free_again_after_deletion(alice: Any, bob: Any):
    first = project_create(owner=alice, name="Plans", now=NOW)
    project_create(owner=bob, name="Plans", now=NOW)
    project_delete(project=first, now=NOW)
    assert project_create(owner=alice, name="plans", now=NOW).pk != first.pk


def test_an_edit_names_its_columns_and_one_that_changes_nothing_writes_nothing(
    alice: Any, django_assert_num_queries: Any
):
    project = project_create(owner=alice, name="Plans", description="Old", colour=2, now=NOW)
    ChatProject.objects.filter(pk=project.pk).update(description="Changed meanwhile")
    project_edit(project=project, values={"colour": 3}, now=LATER)
    project.refresh_from_db()
    assert (project.description, project.colour, project.updated_at) == ("Changed meanwhile", 3, LATER)
    project_edit(project=project, values={"colour": 3, "name": " Plans "}, now=LATER + timedelta(hours=1))
    project.refresh_from_db()
    assert project.updated_at == LATER


def test_a_rename_to_a_taken_name_is_refused_and_to_its_own_is_not(alice: Any):
    project_create(owner=alice, name="Plans", now=NOW)
    other = project_create(owner=alice, name="Other", now=NOW)
    assert code(project_edit, project=other, values={"name": "PLANS"}, now=NOW) == ("name_taken", 400)
    assert project_edit(project=other, values={"name": "OTHER"}, now=NOW).name == "OTHER"


def test_archiving_is_undone(alice: Any):
    project = project_create(owner=alice, name="Plans", now=NOW)
    assert project_archive(project=project, now=LATER).archived_at == LATER
    assert project_archive(project=project, archived=False, now=LATER).archived_at is None


def test_a_deleted_project_leaves_a_tombstone_without_content(alice: Any):
    """projects.md: "gone" is never read as "none"."""
    project = project_create(owner=alice, name="Secret plans", description="Very secret", now=NOW)
    schedule = make_schedule(owner=alice, project=project)
    conversation = make_conversation(owner=alice, project=project)
    project_delete(project=project, now=LATER)
    stored = ChatProject.objects.filter(pk=project.pk).values().get()
    assert stored["deleted_at"] == LATER
    assert "ecret" not in str(stored)
    schedule.refresh_from_db()
    conversation.refresh_from_db()
    assert schedule.project_id == project.pk
    assert conversation.project_id is None
    assert project_find(alice, project.public_id) is None
    assert code(project_delete, project=project, now=LATER) == ("not_found", 404)
    assert code(project_edit, project=project, values={"name": "x"}, now=LATER) == ("not_found", 404)


def test_schedules_move_in_the_same_act_as_their_owner_would_move_them(alice: Any):
    old, new = make_project(owner=alice), make_project(owner=alice)
    schedule = make_schedule(owner=alice, project=old, armed=True)
    project_delete(project=old, move_to=new, now=LATER)
    schedule.refresh_from_db()
    assert (schedule.project_id, schedule.revision) == (new.pk, 2)


def test_one_whose_agent_is_switched_off_moves_as_well_and_so_do_its_waiting_runs(alice: Any):
    """P8: the owner decides about the project alone."""
    old, new = make_project(owner=alice), make_project(owner=alice)
    run = queued_run(alice, project=old)
    assert run.schedule is not None
    type(run.agent).objects.update(enabled=False)
    project_delete(project=old, move_to=new, now=NOW)
    run.refresh_from_db()
    run.schedule.refresh_from_db()
    assert (run.project_id, run.schedule.project_id, run.revision) == (new.pk, new.pk, 2)
    type(run.agent).objects.update(enabled=True)
    [work] = begin(LATER)
    assert work.turn.conversation is not None
    assert work.turn.conversation.project_id == new.pk


def test_schedules_move_to_no_project_when_that_is_asked(alice: Any):
    old = make_project(owner=alice)
    schedule = make_schedule(owner=alice, project=old, armed=True)
    project_delete(project=old, move_to=None, now=LATER)
    assert Schedule.objects.get(pk=schedule.pk).project_id is None


def test_a_move_that_policy_forbids_leaves_everything_as_it_was(alice: Any):
    """P3"""
    old = make_project(owner=alice)
    schedule = make_schedule(owner=alice, project=old, armed=True)
    conversation = make_conversation(owner=alice, project=old)
    policy_set(scope="deployment", values={"require_project": True}, now=NOW)
    assert code(project_delete, project=old, move_to=None, now=LATER)[0] == "project_required"
    old.refresh_from_db()
    assert old.deleted_at is None
    assert Schedule.objects.get(pk=schedule.pk).project_id == old.pk
    assert Conversation.objects.get(pk=conversation.pk).project_id == old.pk


def test_schedules_move_into_a_usable_project_of_the_owner_alone(alice: Any, bob: Any):
    old = make_project(owner=alice)
    for target in (make_project(owner=bob), make_project(owner=alice, archived_at=NOW), old):
        assert code(project_delete, project=old, move_to=target, now=LATER) == ("project_not_found", 400)


def test_a_pinned_project_is_not_renamed_archived_or_deleted_by_its_owner(alice: Any):
    """projects.md, Policy"""
    project = project_create(owner=alice, name="Inbox", now=NOW)
    policy_set(scope="deployment", values={"pinned_project": "inbox"}, now=NOW)
    assert code(project_edit, project=project, values={"name": "Box"}, now=NOW) == ("project_pinned", 409)
    assert code(project_archive, project=project, now=NOW) == ("project_pinned", 409)
    assert code(project_delete, project=project, now=NOW) == ("project_pinned", 409)
    assert project_edit(project=project, values={"description": "Ours"}, now=NOW).description == "Ours"
    policy_set(scope="deployment", values={"pinned_project": None}, now=NOW)
    project_delete(project=project, now=NOW)


def test_what_is_filed_is_counted_in_bulk_and_named(alice: Any, django_assert_max_num_queries: Any):
    projects = [make_project(owner=alice) for _ in range(5)]
    schedule = make_schedule(owner=alice, project=projects[0], name="Mornings")
    make_schedule(owner=alice, project=projects[0], deleting_at=NOW)
    make_conversation(owner=alice, project=projects[0], title="Notes")
    make_conversation(owner=alice, project=projects[1], deleted_at=NOW)
    with django_assert_max_num_queries(2):
        counts = filed_counts([project.pk for project in projects])
    assert counts[projects[0].pk] == {"conversations": 1, "schedules": 1}
    assert counts[projects[1].pk] == {}
    assert filed_names(projects[0]) == {"conversations": ["Notes"], "schedules": [schedule.name]}
