"""Limits read in bulk."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group

from accounts.selectors.limits import deployment_limits, limits_for, limits_of
from accounts.services.limits import limits_set
from tests.factories import NOW, make_user


def test_everybody_gets_their_own_in_three_queries(alice: Any, bob: Any, django_assert_max_num_queries: Any):
    pilots = Group.objects.create(name="Pilots")
    bob.groups.add(pilots)
    limits_set(scope="deployment", values={"max_schedules": 3, "enabled": False}, now=NOW)
    limits_set(scope="group", group=pilots, values={"enabled": True}, now=NOW)
    limits_set(scope="user", user=alice, values={"max_schedules": 30}, now=NOW)
    others = [make_user() for _ in range(5)]
    with django_assert_max_num_queries(3):
        limits = limits_for([alice.pk, bob.pk, *(person.pk for person in others)])
    assert (limits[alice.pk].max_schedules, limits[alice.pk].enabled) == (30, False)
    assert (limits[bob.pk].max_schedules, limits[bob.pk].enabled) == (3, True)
    assert limits[others[0].pk].max_schedules == 3
    assert limits[alice.pk]["max_schedules"].source == "user"


def test_the_environments_capacity_is_the_default(settings: Any, db: None):
    settings.MAX_CONCURRENT_TURNS, settings.MAX_CONCURRENT_PER_OWNER = 7, 2
    assert (deployment_limits().max_concurrent_turns, deployment_limits().max_concurrent) == (7, 2)
    limits_set(scope="deployment", values={"max_concurrent_turns": 900}, now=NOW)
    assert deployment_limits().max_concurrent_turns == 900


def test_every_name_is_a_property(alice: Any):
    limits = limits_of(alice)
    assert {name: getattr(limits, name) for name in limits.values} == {
        name: value.value for name, value in limits.values.items()
    }


def test_nobody_costs_no_query(django_assert_num_queries: Any, db: None):
    with django_assert_num_queries(0):
        assert limits_for([]) == {}


@pytest.mark.parametrize("value", [None, 4])
def test_inherit_clears_what_was_set(value: int | None, alice: Any):
    limits_set(scope="user", user=alice, values={"max_schedules": 4}, now=NOW)
    limits_set(scope="user", user=alice, values={"max_schedules": value}, now=NOW)
    assert limits_of(alice).max_schedules == (10 if value is None else 4)
