"""The heartbeat of a drain (R26): its own thread, patient with a database that is away."""

import threading

import pytest
from django.db import OperationalError

from chats.engine import beat as module
from chats.engine.beat import Heartbeat
from chats.models import WorkerHost
from tests.support.engine import NOW
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def beating(monkeypatch, settings):
    """Start a heartbeat every 50 ms; it is ended with the test."""
    monkeypatch.setattr(module, "EVERY", 0.05)
    settings.HEARTBEAT_SECONDS = 0.05
    started = []

    def start(**callbacks):
        calls = {"working": list, "renewed": lambda fences: None, "stopping": lambda: None, **callbacks}
        started.append(Heartbeat(worker="host/1/a", host="host", **calls))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_it_says_at_once_that_the_drain_lives_and_renews_again_and_again(beating):
    WorkerHost.objects.create(name="host", hostname="host", started_at=NOW)
    renewed = []
    beating(renewed=renewed.append)
    wait_until(lambda: len(renewed) >= 3)
    assert WorkerHost.objects.get().drain_at is not None


def test_it_tells_when_the_host_shuts_down(beating):
    """R30."""
    WorkerHost.objects.create(name="host", hostname="host", started_at=NOW, stopped_at=NOW)
    told = threading.Event()
    beating(stopping=told.set)
    assert told.wait(10)


def test_a_drain_whose_supervisor_was_killed_shuts_down_also_while_the_database_is_away(beating, monkeypatch):
    """R30: nobody would ever ask its host to stop, and it would lease for an hour."""

    def away(**arguments):
        raise OperationalError("the database is away")

    monkeypatch.setattr(module, "host_beat", away)
    monkeypatch.setattr(module, "leaderless", lambda: True)
    told = threading.Event()
    beating(stopping=told.set)
    assert told.wait(10)


def test_a_database_that_is_away_is_asked_once_a_beat_and_not_without_pause(beating, monkeypatch):
    asked = []

    def away(**arguments):
        asked.append(1)
        raise OperationalError("the database is away")

    monkeypatch.setattr(module, "host_beat", away)
    beating()
    threading.Event().wait(0.5)
    assert 2 <= len(asked) <= 12


def test_it_goes_on_when_the_database_is_back(beating, monkeypatch):
    real, failures = module.host_beat, [OperationalError("away")] * 2

    def away(**arguments):
        if failures:
            raise failures.pop()
        real(**arguments)

    monkeypatch.setattr(module, "host_beat", away)
    renewed = threading.Event()
    beating(renewed=lambda fences: renewed.set())
    assert renewed.wait(10)
