"""Two requests at the same instant: one schedule per key, the cap holds, one of two edits is told."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from accounts.models import LimitSet
from core.errors import Refusal
from schedules.models import Schedule
from schedules.services.editing import schedule_create, schedule_edit
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(acts):
    """Run `acts` in a thread each, all let go together; return what each returned or raised."""
    start = threading.Barrier(len(acts))

    def run(act):
        try:
            start.wait(timeout=10)
            return act()
        except Refusal as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


@pytest.fixture
def owner(transactional_db):
    return factories.make_user("alice@example.com")


@pytest.fixture
def wanted(owner):
    return {
        "name": "Morning",
        "prompt": "Say good morning.",
        "agent": factories.make_agent().public_id,
        "cadence": {"kind": "daily", "time": "09:00"},
    }


def test_of_creates_at_once_with_one_key_the_later_ones_replay(owner, wanted, now):
    """B87."""
    results = at_once([lambda: schedule_create(owner=owner, body=wanted, now=now, key="k1")] * 4)
    assert sorted(replayed for _, replayed in results) == [False, True, True, True]
    assert len({schedule.pk for schedule, _ in results}) == Schedule.objects.count() == 1


def test_the_cap_holds_under_creates_at_once(owner, wanted, now):
    LimitSet.objects.create(updated_at=factories.NOW, scope="user", user=owner, max_schedules=2)
    results = at_once([lambda: schedule_create(owner=owner, body=wanted, now=now)] * 5)
    refusals = [result.code for result in results if isinstance(result, Refusal)]
    assert refusals == ["schedule_limit"] * 3
    assert Schedule.objects.count() == 2


def test_of_two_edits_of_one_revision_one_is_told_of_the_other(owner, wanted, now):
    schedule, _ = schedule_create(owner=owner, body=wanted, now=now)
    copies = [Schedule.objects.get(pk=schedule.pk) for _ in range(2)]
    results = at_once(
        [
            lambda copy=copy, name=name: schedule_edit(schedule=copy, body={"name": name}, now=now, if_match=1)
            for copy, name in zip(copies, ("One", "Two"), strict=True)
        ]
    )
    refusals = [result for result in results if isinstance(result, Refusal)]
    assert [(refusal.code, refusal.params) for refusal in refusals] == [("schedule_changed", {"revision": 2})]
    assert Schedule.objects.get().revision == 2
