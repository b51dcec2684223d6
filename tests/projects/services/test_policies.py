"""Requirement and pin as operators set them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group

from core.errors import Refusal
from projects.models import ChatProject, ProjectPolicy
from projects.selectors import policy_of
from projects.services import policy_set
from tests.factories import NOW, make_project, make_user


def test_each_scope_has_one_row_and_other_columns_stay(alice: Any):
    group = Group.objects.get(name="Members")
    for scope in ({"scope": "deployment"}, {"scope": "group", "group": group}, {"scope": "user", "user": alice}):
        policy_set(**scope, values={"require_project": True}, now=NOW)  # type: ignore[arg-type]
        policy_set(**scope, values={"pinned_project": ""}, now=NOW)  # type: ignore[arg-type]
    assert list(ProjectPolicy.objects.values_list("require_project", "pinned_name")) == [(True, "")] * 3


def test_the_pinned_project_is_made_for_those_who_lack_it_when_the_operator_says_so(alice: Any, bob: Any):
    mine = make_project(owner=alice, name="Inbox", name_key="inbox")
    gone = make_user(is_active=False)
    policy_set(scope="deployment", values={"pinned_project": "Inbox"}, create_missing=True, now=NOW)
    assert policy_of(alice).pin_id == mine.pk
    made = ChatProject.objects.get(owner=bob)
    assert (made.name, policy_of(bob).pin_id) == ("Inbox", made.pk)
    assert not ChatProject.objects.filter(owner=gone).exists()


def test_however_many_lack_it_it_is_made_in_few_statements(alice: Any, bob: Any, django_assert_max_num_queries: Any):
    make_project(owner=bob)
    people = [make_user() for _ in range(12)]
    with django_assert_max_num_queries(12):
        policy_set(scope="deployment", values={"pinned_project": "Inbox"}, create_missing=True, now=NOW)
    made = ChatProject.objects.filter(name_key="inbox")
    assert made.count() == len(people) + 2
    assert (made.get(owner=alice).colour, made.get(owner=bob).colour) == (1, 2)
    assert len(set(made.values_list("public_id"))) == made.count()


def test_for_a_group_it_is_made_for_its_members_alone(alice: Any, bob: Any):
    legal = Group.objects.create(name="Legal")
    alice.groups.add(legal)
    policy_set(scope="group", group=legal, values={"pinned_project": "Cases"}, create_missing=True, now=NOW)
    assert [project.owner for project in ChatProject.objects.all()] == [alice]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"colour": 1}, "limit_unknown"),
        ({"require_project": "yes"}, "wrong_type"),
        ({"pinned_project": 5}, "wrong_type"),
        ({"pinned_project": "x" * 101}, "too_long"),
        ({"pinned_project": "a\x00b"}, "wrong_type"),
        ({"pinned_project": "Nowhere"}, "project_not_found"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_set(values: dict[str, Any], code: str, alice: Any):
    with pytest.raises(Refusal) as caught:
        policy_set(scope="user", user=alice, values=values, now=NOW)
    assert caught.value.code == code
    assert not ProjectPolicy.objects.exists()
