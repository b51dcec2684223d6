"""Deletion requests as operators see them: how far, how old, what blocks; hasten, call off, try again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts import lifecycle
from accounts.models import AuditEntry, DeletionRequest
from accounts.services.deletion import deletion_request
from core.clock import now as clock_now
from tests.factories import NOW

LIST = "admin:accounts_deletionrequest_changelist"


@pytest.fixture
def operator(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def act(client: Client, request: DeletionRequest, name: str) -> Any:
    return client.post(reverse("admin:accounts_deletionrequest_act", args=[request.pk, name]), follow=True)


def test_the_list_says_state_age_and_what_blocks(operator: Client, alice: Any, bob: Any):
    deletion_request(user=alice, actor=alice, now=NOW)
    waits = deletion_request(user=bob, actor=bob, now=NOW)
    lifecycle.move(waits, "quiescing", now=NOW)
    lifecycle.note(waits, progress={"waits": {"turns": 2}})
    said = operator.get(reverse(LIST)).content.decode()
    for words in ("alice@example.com", "Its grace runs", "turns: 2", "ago"):
        assert words in said
    assert "alice@example.com" not in operator.get(reverse(LIST) + "?state=quiescing").content.decode()


def test_a_request_is_hastened_and_called_off_by_an_operator(operator: Client, alice: Any, olivia: Any):
    asked = clock_now()
    request = deletion_request(user=alice, actor=alice, now=asked)
    act(operator, request, "hasten")
    request.refresh_from_db()
    assert request.not_before - asked < timedelta(minutes=1)
    assert AuditEntry.objects.get(act="deletion.hastened").who == olivia.person_key.key
    act(operator, request, "cancel")
    request.refresh_from_db()
    assert request.state == "cancelled"
    assert "Not done" in act(operator, request, "cancel").content.decode()


def test_what_failed_is_tried_again(operator: Client, alice: Any):
    """Before the commit point by a new request, beyond it by the next step."""
    failed = lifecycle.failed(user_id=alice.pk, now=NOW, error="ValueError")
    assert "ValueError" in operator.get(reverse(LIST)).content.decode()
    act(operator, failed, "retry")
    request = DeletionRequest.objects.get(state="requested", user=alice)
    act(operator, request, "hasten")
    for state in ("quiescing", "erasing"):
        act(operator, request, "retry")
        request.refresh_from_db()
        assert request.state == state


def test_nobody_without_the_right_acts(client: Client, alice: Any, make_user: Any):
    request = deletion_request(user=alice, actor=alice, now=NOW)
    client.force_login(make_user(is_staff=True))
    assert act(client, request, "cancel").status_code == 403
    request.refresh_from_db()
    assert request.state == "requested"
