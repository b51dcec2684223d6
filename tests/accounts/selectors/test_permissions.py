"""Who holds a permission, read in bulk."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission

from accounts.selectors.permissions import held, may, permitted
from tests.factories import make_user


def test_members_superusers_and_those_who_were_given_it_hold_it(
    alice: Any, olivia: Any, django_assert_num_queries: Any
):
    stranger = make_user(member=False)
    given = make_user(member=False)
    given.user_permissions.add(Permission.objects.get(codename="use_schedules"))
    everybody = [alice.pk, olivia.pk, stranger.pk, given.pk]
    with django_assert_num_queries(1):
        assert permitted(everybody, "use_schedules") == {alice.pk, olivia.pk, given.pk}
    assert permitted(everybody, "create_schedules") == {alice.pk, olivia.pk}


def test_an_operator_holds_it_without_the_group(olivia: Any):
    olivia.groups.clear()
    assert may(olivia, "create_schedules")


def test_being_inactive_is_a_fact_of_its_own(alice: Any):
    """Gate rows 3 and 5 are two reasons."""
    alice.is_active = False
    alice.save()
    assert may(alice, "use_schedules")


def test_nobody_holds_what_does_not_exist(alice: Any):
    assert not may(alice, "nothing")
    assert permitted([], "use_schedules") == set()
    assert held(alice) == {"use_schedules", "create_schedules"}
