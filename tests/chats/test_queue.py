"""Hints: a task without content, never more of them than wake anybody, and a broker that is away loses nothing (R22)."""

import pytest
from django_q import brokers
from django_q.models import OrmQ

from chats.queue import hint_drain, waiting_hints

pytestmark = [pytest.mark.django_db]


def test_a_hint_names_the_task_and_carries_nothing(db):
    assert hint_drain() is True
    task = OrmQ.objects.get().task
    assert (task["func"], task["args"], task["kwargs"]) == ("chats.tasks.drain", (), {})


def test_more_hints_than_workers_wake_nobody_else(settings):
    settings.WORKER_PROCESSES = 2
    assert [hint_drain() for _ in range(5)] == [True, True, False, False, False]
    assert waiting_hints() == 2


def test_a_broker_that_is_away_is_no_error_and_says_that_no_hint_was_sent(monkeypatch):
    def away(*args, **kwargs):
        raise ConnectionError("no broker")

    monkeypatch.setattr(brokers, "get_broker", away)
    assert hint_drain() is False
    assert waiting_hints() is None
