"""Policies read in bulk: pins resolved among each owner's own projects (P8, P14)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group

from projects.selectors import policies_for, policy_of, project_facts
from projects.services import policy_set, project_delete
from tests.factories import NOW, make_project, make_user


def test_a_pin_by_name_means_each_owners_own_project(alice: Any, bob: Any, django_assert_max_num_queries: Any):
    mine = make_project(owner=alice, name="Inbox", name_key="inbox")
    make_project(owner=bob, name="Other")
    policy_set(scope="deployment", values={"pinned_project": "INBOX"}, now=NOW)
    with django_assert_max_num_queries(3):
        policies = policies_for([alice.pk, bob.pk])
    assert (policies[alice.pk].pin_id, policies[alice.pk].pin_name) == (mine.pk, "Inbox")
    assert (policies[bob.pk].pinned, policies[bob.pk].pin_id, policies[bob.pk].pin_name) == (True, None, "INBOX")
    assert policies[bob.pk].required


def test_a_user_level_pin_names_one_project_of_that_user(alice: Any):
    plans = make_project(owner=alice, name="Plans", name_key="plans")
    policy_set(scope="user", user=alice, values={"pinned_project": "plans"}, now=NOW)
    assert (policy_of(alice).pin_id, policy_of(alice).pin_source) == (plans.pk, "user")


def test_a_pin_whose_project_is_gone_is_a_pin_without_a_project(alice: Any):
    """P8: never silently none."""
    plans = make_project(owner=alice, name="Plans", name_key="plans")
    policy_set(scope="deployment", values={"pinned_project": "Plans"}, now=NOW)
    plans.name_key, plans.deleted_at = "", NOW
    plans.save()
    policy = policy_of(alice)
    assert (policy.pinned, policy.pin_id, policy.required) == (True, None, True)


def test_groups_bind_their_members_alone(alice: Any, bob: Any, django_assert_max_num_queries: Any):
    legal = Group.objects.create(name="Legal")
    alice.groups.add(legal)
    policy_set(scope="group", group=legal, values={"require_project": True}, now=NOW)
    people = [make_user() for _ in range(4)]
    with django_assert_max_num_queries(3):
        policies = policies_for([alice.pk, bob.pk, *(person.pk for person in people)])
    assert (policies[alice.pk].require_project, policies[alice.pk].require_source) == (True, "group")
    assert policies[bob.pk].require_project is False


def test_no_policy_costs_one_query(alice: Any, django_assert_num_queries: Any):
    with django_assert_num_queries(1):
        assert not policy_of(alice).required


def test_a_tombstone_is_known_as_gone_and_an_unknown_id_is_absent(alice: Any):
    project = make_project(owner=alice)
    project_delete(project=project, now=NOW)
    facts = project_facts([project.pk, 999_999])
    assert set(facts) == {project.pk}
    assert (facts[project.pk].deleted, facts[project.pk].name) == (True, "")
