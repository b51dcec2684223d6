"""Project policies in the admin: what a pin would do is shown before it is done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import AuditEntry
from projects.models import ChatProject, ProjectPolicy
from projects.selectors import policies_for
from projects.services import policy_planned, policy_set
from schedules.services.impact import Impact, policy_impact

ADD = "admin:projects_projectpolicy_add"


@pytest.fixture
def operator_client(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def impact(
    *, scope: str = "deployment", group: Any = None, user: Any = None, create_missing: bool = False, **values: Any
) -> Impact:
    """Look, and see that looking writes nothing."""
    with CaptureQueriesContext(connection) as asked:
        found = policy_impact(scope=scope, group=group, user=user, values=values, create_missing=create_missing)
    assert all(query["sql"].startswith("SELECT") for query in asked)
    return found


def test_the_preview_counts_what_is_redirected_and_what_is_blocked(
    alice: Any, bob: Any, make_schedule: Any, make_project: Any, now: Any
) -> None:
    """projects.md: a pin shows how many schedules it would redirect and how many it would block; nothing is written."""
    inbox = make_project(owner=alice, name="Inbox")
    make_schedule(owner=alice, project=inbox, armed=True)
    make_schedule(owner=alice, project=make_project(owner=alice), armed=True)
    make_schedule(owner=alice, armed=True)
    make_schedule(owner=alice, enabled=False)
    make_schedule(owner=bob, armed=True)
    assert impact(require_project=True) == Impact(redirected=0, blocked=2, seen=4, bounded=False)
    assert impact(pinned_project="Inbox") == Impact(redirected=2, blocked=1, seen=4, bounded=False)
    assert impact(pinned_project="inbox", create_missing=True) == Impact(3, 0, 4, False)
    assert impact(scope="user", user=alice, require_project=True) == Impact(0, 1, 3, False)
    assert not impact(require_project=False)
    legal = Group.objects.create(name="Legal")
    bob.groups.add(legal)
    assert impact(scope="group", group=legal, pinned_project="Cases") == Impact(0, 1, 1, False)
    assert impact(scope="group", group=legal, pinned_project="Cases", create_missing=True) == Impact(1, 0, 1, False)
    assert impact(scope="user", user=bob, pinned_project="Cases", create_missing=True) == Impact(1, 0, 1, False)
    assert impact(scope="user", user=alice, pinned_project="INBOX") == Impact(2, 0, 3, False)
    assert not ProjectPolicy.objects.exists()
    assert not ChatProject.objects.filter(owner=bob).exists()


def test_the_preview_says_what_saving_then_does(
    alice: Any, bob: Any, make_user: Any, make_schedule: Any, make_project: Any, now: Any
) -> None:
    """A pin of a group, other policies around it, and somebody inactive, for whom nothing is made."""
    gone, legal = make_user(is_active=False), Group.objects.create(name="Legal")
    for person in (alice, bob, gone):
        person.groups.add(legal)
        make_schedule(owner=person, project=make_project(owner=person), armed=True)
    policy_set(scope="deployment", values={"pinned_project": "Inbox"}, create_missing=True, now=now)
    policy_set(scope="user", user=bob, values={"pinned_project": "Own"}, create_missing=True, now=now)
    values = {"pinned_project": "Cases"}
    planned = policy_planned(scope="group", group=legal, values=values, create_missing=True)
    people = [alice.pk, bob.pk, gone.pk]
    seen = policies_for(people, planned=planned)
    policy_set(scope="group", group=legal, values=values, create_missing=True, now=now)
    stored = policies_for(people)
    assert seen[bob.pk] == stored[bob.pk]
    assert seen[gone.pk] == stored[gone.pk]
    assert seen[gone.pk].pin_id is None
    assert stored[alice.pk].pin_id
    assert replace(seen[alice.pk], pin_id=stored[alice.pk].pin_id) == stored[alice.pk]


def test_a_policy_that_blocks_schedules_is_saved_at_the_second_asking(
    alice: Any, make_schedule: Any, operator_client: Client
) -> None:
    make_schedule(owner=alice, armed=True)
    data = {"scope": "deployment", "require_project": "true", "pin": "inherit"}
    first = operator_client.post(reverse(ADD), data)
    assert "1 would be blocked" in first.content.decode()
    assert not ProjectPolicy.objects.exists()
    shown = first.context["adminform"].form["previewed"].value()
    changed = operator_client.post(reverse(ADD), {**data, "pin": "none", "previewed": shown})
    assert "1 would be blocked" in changed.content.decode()
    assert not ProjectPolicy.objects.exists()
    assert operator_client.post(reverse(ADD), {**data, "previewed": shown}).status_code == 302
    assert ProjectPolicy.objects.get().require_project is True


def test_a_policy_that_changes_no_schedule_is_saved_at_once(alice: Any, operator_client: Client) -> None:
    data = {"scope": "user", "user": alice.pk, "require_project": "unknown", "pin": "none"}
    assert operator_client.post(reverse(ADD), data).status_code == 302
    row = ProjectPolicy.objects.get()
    assert (row.user, row.require_project, row.pinned_name, row.pinned_project) == (alice, None, "", None)
    page = reverse("admin:projects_projectpolicy_change", args=[row.pk])
    assert operator_client.get(page).context["adminform"].form["pin"].value() == "none"
    operator_client.post(reverse("admin:projects_projectpolicy_delete", args=[row.pk]), {"post": "yes"})
    assert not ProjectPolicy.objects.exists()
    noted = AuditEntry.objects.filter(kind="projectpolicy").order_by("pk").values_list("act", "before", "after")
    told = {"require_project": None, "pinned_project": ""}
    assert list(noted) == [("projectpolicy.added", {}, told), ("projectpolicy.removed", told, {})]


def test_a_pin_of_a_person_names_a_project_that_is_theirs(alice: Any, operator_client: Client) -> None:
    data = {"scope": "user", "user": alice.pk, "require_project": "unknown", "pin": "pin", "pinned_name": "Inbox"}
    refused = operator_client.post(reverse(ADD), data)
    assert "no such project" in str(refused.context["adminform"].form.errors["pinned_name"])
    assert operator_client.post(reverse(ADD), {**data, "create_missing": "on"}).status_code == 302
    assert ProjectPolicy.objects.get().pinned_project == ChatProject.objects.get(owner=alice)


def test_a_scope_needs_its_group_or_its_person(operator_client: Client) -> None:
    for scope in ("group", "user"):
        answer = operator_client.post(reverse(ADD), {"scope": scope, "require_project": "true", "pin": "inherit"})
        assert answer.context["adminform"].form.errors[scope]
