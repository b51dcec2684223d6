"""The outbox (R3, R15)."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from accounts.models import Notice
from accounts.services.notices import notice_add
from tests.factories import NOW


def add(user: Any, **fields: Any) -> None:
    given: dict[str, Any] = {
        "code": "schedule_blocked",
        "params": {"name": "Mornings"},
        "subject": "sch_1",
        "dedupe_key": "k",
        "now": NOW,
    }
    notice_add(user_id=user.pk, **(given | fields))


def test_one_event_is_told_once(alice: Any):
    """R15, B91: also when it is come upon again and again."""
    add(alice)
    add(alice, params={"name": "Other"})
    add(alice, dedupe_key="another")
    assert list(Notice.objects.order_by("id").values_list("dedupe_key", "params")) == [
        ("k", {"name": "Mornings"}),
        ("another", {"name": "Mornings"}),
    ]


def test_a_duplicate_never_fails_the_transaction_it_is_in(alice: Any):
    add(alice)
    with transaction.atomic():
        add(alice)
        add(alice, dedupe_key="after")
    assert Notice.objects.count() == 2
