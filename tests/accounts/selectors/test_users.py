"""People found by their e-mail."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import User
from accounts.selectors.users import user_named
from core.errors import Refusal
from tests.support.plans import plans_of


@pytest.mark.parametrize("email", ["alice@example.com", " ALICE@Example.COM "])
def test_the_case_of_an_e_mail_does_not_matter(email: str, alice: Any):
    assert user_named(email) == alice


def test_a_pattern_is_nobodys_e_mail(alice: Any):
    with pytest.raises(Refusal):
        user_named("%@example.com")


def test_an_e_mail_is_found_by_the_index_that_keeps_it_unique(alice: Any):
    for act in (
        lambda: user_named("Alice@example.com"),
        lambda: User.objects.get_by_natural_key("Alice@example.com"),
    ):
        [plan] = plans_of(act, "accounts_user")
        assert "user_email_unique" in plan


def test_djangos_own_command_makes_an_operator_who_joined_now(db: None, now: Any):
    made = User.objects.create_superuser("root@example.com", "correct horse battery")
    assert made.date_joined is not None
    given = User.objects.create_user("carol@example.com", "correct horse battery", date_joined=now)
    assert User.objects.get(pk=given.pk).date_joined == now
