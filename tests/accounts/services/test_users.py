"""Accounts and the one-time set-up link (accounts.md; details.md, wire)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group

from accounts.models import SetupLink, User
from accounts.services.users import profile_edit, setup_complete, setup_link_make, setup_link_open, user_create
from core.errors import Refusal
from tests.factories import NOW

PASSWORD = "a good long phrase"


def make(**fields: Any) -> User:
    return user_create(**{"email": "ann@example.com", "password": PASSWORD, "now": NOW, **fields})


def refused(**fields: Any) -> dict[str, str]:
    with pytest.raises(Refusal) as caught:
        make(**fields)
    return {error.path: error.code for error in caught.value.fields}


def test_a_member_signs_in_and_may_use_and_create_schedules(db: None):
    user = make(email=" Ann@Example.COM ", zone="Europe/Vienna", display_name=" Ann ")
    assert (user.email, user.zone, user.display_name) == ("Ann@example.com", "Europe/Vienna", "Ann")
    assert user.check_password(PASSWORD)
    assert user.has_perms(["accounts.use_schedules", "accounts.create_schedules"])
    assert not user.is_staff


def test_an_operator_may_open_the_admin(db: None):
    user = make(operator=True)
    assert (user.is_staff, user.is_superuser) == (True, True)


@pytest.mark.parametrize(
    ("fields", "path", "code"),
    [
        ({"email": ""}, "email", "required"),
        ({"email": "nobody"}, "email", "wrong_type"),
        ({"email": "a" * 250 + "@example.com"}, "email", "too_long"),
        ({"email": "ALICE@example.com"}, "email", "email_taken"),
        ({"password": ""}, "password", "required"),
        ({"password": "short"}, "password", "password_weak"),
        ({"password": "ann@example.com"}, "password", "password_weak"),
        ({"zone": "Mars/Olympus"}, "zone", "zone_unknown"),
        ({"zone": "../../etc/passwd"}, "zone", "zone_unknown"),
        ({"display_name": "x" * 101}, "display_name", "too_long"),
        ({"display_name": "a\x00"}, "display_name", "wrong_type"),
    ],
)
def test_what_cannot_be_used_is_named_and_no_account_is_made(fields: dict[str, Any], path: str, code: str, alice: Any):
    assert refused(**fields)[path] == code
    assert User.objects.count() == 1


def test_everything_wrong_is_said_at_once(db: None):
    assert set(refused(email="", password="", zone="x")) == {"email", "password", "zone"}


def test_what_operators_took_from_the_group_stays_taken(db: None):
    make()
    Group.objects.get(name="Members").permissions.clear()
    assert not make(email="ben@example.com").has_perm("accounts.use_schedules")


def test_the_link_makes_the_first_operator_once(db: None):
    token = setup_link_make(now=NOW)
    assert token
    assert setup_link_open(token=token, now=NOW)
    user = setup_complete(token=token, email="olivia@example.com", password=PASSWORD, zone="UTC", now=NOW)
    assert user.is_staff
    assert not setup_link_open(token=token, now=NOW)
    with pytest.raises(Refusal) as caught:
        setup_complete(token=token, email="eve@example.com", password=PASSWORD, zone="UTC", now=NOW)
    assert caught.value.code == "setup_link_invalid"
    assert User.objects.count() == 1


def test_a_second_operator_cannot_be_made_by_a_link_from_before_the_first_account(db: None):
    token = setup_link_make(now=NOW)
    make()
    with pytest.raises(Refusal) as caught:
        setup_complete(token=token or "", email="eve@example.com", password=PASSWORD, zone="UTC", now=NOW)
    assert caught.value.status == 410
    assert setup_link_make(now=NOW) is None


def test_the_link_ends_after_a_day_and_when_a_newer_one_is_made(db: None):
    first = setup_link_make(now=NOW)
    second = setup_link_make(now=NOW)
    assert first and second
    assert not setup_link_open(token=first, now=NOW)
    assert setup_link_open(token=second, now=NOW + timedelta(hours=23, minutes=59))
    assert not setup_link_open(token=second, now=NOW + timedelta(hours=24))


def test_a_refused_field_leaves_the_link_usable(db: None):
    token = setup_link_make(now=NOW) or ""
    with pytest.raises(Refusal):
        setup_complete(token=token, email="olivia@example.com", password="short", zone="UTC", now=NOW)
    assert setup_link_open(token=token, now=NOW)


def test_the_database_never_holds_the_token_itself(db: None):
    token = setup_link_make(now=NOW) or ""
    assert token not in str(list(SetupLink.objects.values()))


def test_a_profile_changes_column_by_column(alice: Any):
    mine = User.objects.get(pk=alice.pk)
    User.objects.filter(pk=alice.pk).update(display_name="Renamed meanwhile")
    profile_edit(user=mine, values={"zone": "Asia/Tokyo", "clock": "12"})
    alice.refresh_from_db()
    assert (alice.zone, alice.clock, alice.display_name) == ("Asia/Tokyo", "12", "Renamed meanwhile")


def test_a_refused_profile_changes_nothing(alice: Any):
    with pytest.raises(Refusal) as caught:
        profile_edit(user=alice, values={"zone": "Nowhere", "locale": "xx", "display_name": "Al"})
    assert {error.path: error.code for error in caught.value.fields} == {
        "zone": "zone_unknown", "locale": "choice_unknown",
    }  # fmt: skip
    assert (alice.zone, alice.display_name) == ("UTC", "Alice")
