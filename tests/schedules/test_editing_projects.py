"""Where a schedule files its conversations, decided at every write: the worked examples of `tests/cases`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.errors import Refusal
from schedules import lifecycle
from schedules.models import Schedule
from schedules.selectors.lists import schedule_row
from schedules.services.editing import schedule_create, schedule_edit

CASES = json.loads((Path(__file__).parents[1] / "cases" / "project_policy.json").read_text())["write"]


def label(case):
    stored = f" with {case['stored']} stored" if "stored" in case else ""
    leaves = f" that leaves it {case['leaves']}" if "leaves" in case else ""
    return f"{case['act']}{leaves}{stored} under {case['policy'] or 'no policy'} sending {case['sent']}"


@pytest.fixture
def projects(alice, bob, make_project):
    """A and B are Alice's, X is Bob's, GONE was deleted."""
    gone = make_project(owner=alice, name="Gone", deleted_at=datetime(2026, 5, 1, tzinfo=UTC))
    return {
        "A": make_project(owner=alice, name="A"),
        "B": make_project(owner=alice, name="B"),
        "X": make_project(owner=bob, name="X"),
        "GONE": gone,
    }


def set_policy(policy, alice, rules, projects):
    if rules.get("require"):
        policy(alice, require_project=True)
    if "pin" in rules:
        policy(alice, pinned_project=projects[rules["pin"]])


@pytest.mark.parametrize("case", CASES, ids=label)
def test_the_worked_examples_of_a_write(case, alice, body, now, created, policy, projects):
    """P1 to P6, P14."""
    sent = dict(case["sent"])
    if sent.get("project"):
        sent["project"] = projects[sent["project"]].public_id
    schedule = created() if case["act"] == "edit" else None
    if schedule is not None and case["stored"]:
        Schedule.objects.filter(pk=schedule.pk).update(project=projects[case["stored"]])
        schedule.refresh_from_db()
    set_policy(policy, alice, case["policy"], projects)

    def act():
        if schedule is None:
            return schedule_create(owner=alice, body={**body, **sent}, now=now)[0]
        return schedule_edit(schedule=schedule, body=sent, now=now)

    expected = case["result"]
    if "code" in expected:
        with pytest.raises(Refusal) as caught:
            act()
        assert (caught.value.status, caught.value.code) == (expected["status"], expected["code"])
        assert [error.path for error in caught.value.fields] == [expected["field"]]
        return
    row = schedule_row(act())
    shown = row.project.name if row.project else None
    assert (shown, row.destination.source) == (expected["project"], expected["source"])
    if "stored_after" in expected:
        stored = row.schedule.project
        assert (stored.name if stored else None) == expected["stored_after"]


def test_an_archived_project_can_be_kept_but_not_chosen(alice, body, now, created, projects):
    """P2."""
    schedule = created(project=projects["A"].public_id)
    for name in ("A", "B"):
        projects[name].archived_at = now
        projects[name].save()
    schedule_edit(schedule=schedule, body={"name": "Evening", "project": projects["A"].public_id}, now=now)
    with pytest.raises(Refusal) as caught:
        schedule_edit(schedule=schedule, body={"project": projects["B"].public_id}, now=now)
    assert caught.value.code == "project_not_found"


def test_only_an_explicit_null_clears_a_stored_project(alice, now, created, projects):
    """P6."""
    schedule = created(project=projects["A"].public_id)
    assert schedule_edit(schedule=schedule, body={"name": "Evening"}, now=now).project_id == projects["A"].pk
    assert schedule_edit(schedule=schedule, body={"project": None}, now=now).project_id is None


def test_a_moved_pin_alone_is_no_edit(alice, now, created, projects, policy):
    """P9: writing it back is the next fire's; an edit that changes nothing writes nothing."""
    schedule = created(project=projects["B"].public_id)
    policy(alice, pinned_project=projects["A"])
    edited = schedule_edit(schedule=schedule, body={"name": schedule.name}, now=now)
    assert (edited.revision, edited.project_id) == (1, projects["B"].pk)


def test_a_schedule_blocked_for_want_of_a_project_goes_on_when_it_gets_one(alice, now, created, projects, policy):
    schedule = created()
    policy(alice, require_project=True)
    lifecycle.block(schedule, reason="project_required", params={}, now=now)
    schedule_edit(schedule=schedule, body={"name": "Evening"}, now=now)
    assert Schedule.objects.get().blocked_reason == "project_required"
    edited = schedule_edit(schedule=Schedule.objects.get(), body={"project": projects["A"].public_id}, now=now)
    assert edited.is_on and edited.next_run_at is not None
