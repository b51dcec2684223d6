"""The cast and the factories themselves."""

import pytest

from tests import factories


def test_alice_and_bob_may_use_and_create_schedules_and_only_olivia_operates(alice, bob, olivia):
    for person in (alice, bob):
        assert person.has_perms(["accounts.use_schedules", "accounts.create_schedules"])
        assert not person.is_staff
    assert olivia.is_staff


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", ["first", "second"])
def test_a_member_has_the_permissions_also_after_a_flush(time):
    assert factories.make_user().has_perm("accounts.create_schedules")


def test_a_person_without_the_group_may_not_use_schedules(make_user):
    person = make_user(member=False, is_active=True, clock="12")
    assert not person.has_perm("accounts.use_schedules")
    assert person.clock == "12"


def test_every_factory_makes_a_row_the_database_accepts(alice, make_schedule, make_run, make_turn, make_conversation):
    schedule = make_schedule(owner=alice)
    assert make_run(schedule=schedule).settled_at is not None
    assert make_run(schedule=schedule, status="queued", kind="manual").settled_at is None
    assert make_turn(owner=alice, conversation=make_conversation(owner=alice)).status == "queued"
