"""One act per key (runs.md, Create is idempotent; P7, B87)."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.models import IdempotencyKey
from accounts.services.idempotency import (
    digest,
    fulfil,
    keys_sweep,
    made_gone,
    once,
    replay_find,
    replay_or_claim,
)
from core.errors import Refusal
from projects.models import ChatProject
from projects.services import project_create
from tests.factories import NOW, make_project
from tests.support.plans import plans_of


def claim(owner: Any, key: str = "k", body: Any = "body", act: str = "create") -> IdempotencyKey | None:
    return replay_or_claim(owner=owner, act=act, key=key, digest=digest(body), now=NOW)


def test_the_digest_is_over_what_was_sent_and_nothing_else():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    different = [
        {},
        {"a": None},
        {"a": ""},
        {"a": " "},
        {"a": 0},
        {"a": False},
        {"a": []},
        {"a": "é"},
        {"a": "e\u0301"},
    ]
    assert len({digest(body) for body in different}) == len(different)


def test_the_first_claims_and_the_second_replays(alice: Any):
    assert claim(alice) is None
    fulfil(owner=alice, act="create", key="k", made="prj_1")
    again = claim(alice)
    assert again is not None and again.made == "prj_1"


def test_a_key_for_another_request_is_a_conflict(alice: Any):
    claim(alice)
    with pytest.raises(Refusal) as caught:
        claim(alice, body="another")
    assert (caught.value.code, caught.value.status) == ("idempotency_conflict", 409)


def test_keys_are_ones_own_and_of_one_act(alice: Any, bob: Any):
    claim(alice)
    assert claim(bob, body="another") is None
    assert claim(alice, act="other", body="another") is None


def test_what_was_deleted_since_is_gone_for_a_day(alice: Any):
    claim(alice)
    fulfil(owner=alice, act="create", key="k", made="prj_1")
    made_gone(made=["prj_1", ""], now=NOW)
    with pytest.raises(Refusal) as caught:
        claim(alice)
    assert (caught.value.code, caught.value.status) == ("gone", 410)
    assert keys_sweep(now=NOW + timedelta(hours=24)) == 0
    assert keys_sweep(now=NOW + timedelta(hours=24, seconds=1)) == 1
    assert claim(alice) is None


def test_what_was_erased_is_looked_up_by_an_index(alice: Any):
    claim(alice)
    [plan] = plans_of(lambda: made_gone(made=["prj_1", "prj_2"], now=NOW), "accounts_idempotencykey")
    assert "idempotency_made" in plan


def test_a_refused_act_uses_up_no_key(alice: Any):
    make_project(owner=alice, name="Taken")

    def act() -> ChatProject:
        return project_create(owner=alice, name="Taken", now=NOW)

    with pytest.raises(Refusal):
        once(owner=alice, act="create", key="k", digest="d", make=act, now=NOW)
    assert replay_find(owner=alice, act="create", key="k", digest="d") is None


def test_looking_up_writes_nothing(alice: Any):
    assert replay_find(owner=alice, act="create", key="k", digest="d") is None
    assert not IdempotencyKey.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_the_second_waits_and_replays(alice: Any):
    """B87: a double click is one act, on both databases."""
    inside, go_on = threading.Event(), threading.Event()
    results: list[Any] = []

    def slow() -> ChatProject:
        inside.set()
        assert go_on.wait(10)
        return project_create(owner=alice, name="Once", now=NOW)

    def quick() -> ChatProject:
        raise AssertionError("the second request must not act")

    def ask(make: Any) -> None:
        try:
            results.append(once(owner=alice, act="create", key="k", digest="d", make=make, now=NOW)[1:])
        finally:
            connection.close()

    first = threading.Thread(target=ask, args=(slow,))
    first.start()
    assert inside.wait(10)
    second = threading.Thread(target=ask, args=(quick,))
    second.start()
    second.join(0.3)
    assert second.is_alive(), "the second must wait for the first"
    go_on.set()
    first.join(20)
    second.join(20)
    project = ChatProject.objects.get()
    assert results == [(project.public_id, False), (project.public_id, True)]


@pytest.mark.django_db(transaction=True)
def test_when_the_first_of_two_fails_the_second_acts(alice: Any):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        claim(alice)
        raise ZeroDivisionError
    assert claim(alice) is None
