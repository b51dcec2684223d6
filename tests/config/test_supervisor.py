"""The command that keeps a clock and a cluster alive: whom it takes for stuck (R31, C15)."""

import subprocess
import time
from types import SimpleNamespace

import pytest
from django.db import OperationalError

from chats.models import WorkerHost
from config.worker import supervisor as module
from config.worker.supervisor import Child, Supervisor
from tests.support.engine import DAY, NOW, SECOND

pytestmark = pytest.mark.django_db


@pytest.fixture
def watch(monkeypatch):
    """A supervisor whose children have run for an hour; `watch(seconds)` lets time pass and looks."""

    class Watch:
        def __init__(self):
            self.wall, self.at = NOW, 10_000.0
            monkeypatch.setattr(module.clock, "now", lambda: self.wall)
            monkeypatch.setattr(module.clock, "monotonic", lambda: self.at)
            self.supervisor = Supervisor(processes=1, with_clock=True)
            WorkerHost.objects.create(name=self.supervisor.host, hostname="host", started_at=NOW)

        def __call__(self, seconds=1, *, ticked=True, drained=False, jump=0 * SECOND):
            self.at += seconds
            self.wall += seconds * SECOND + jump
            columns = {"clock_at": self.wall} if ticked else {}
            WorkerHost.objects.update(**columns, **({"drain_at": self.wall} if drained else {}))
            return [child.name for child in self.supervisor._silent()]

    return Watch()


def test_children_that_move_are_left_alone(watch):
    assert [watch() for _ in range(40)] == [[]] * 40


def test_a_clock_that_does_not_tick_for_20_s_is_stuck(watch):
    watch()
    assert watch(20, ticked=False) == []
    assert watch(1, ticked=False) == ["clock"]


def test_a_wall_clock_that_jumps_makes_nobody_stuck(watch, alice, make_turn):
    """C15: two days ahead, a clock that lives and a queue of an instant look two days old."""
    watch(drained=True)
    make_turn(owner=alice)
    assert watch(ticked=False, jump=2 * DAY) == []
    assert watch(drained=True) == []
    assert watch(ticked=False, jump=-2 * DAY) == []


def test_work_that_waits_while_no_drain_lives_for_10_s_means_a_stuck_cluster(watch, alice, make_turn):
    """R31: a worker was killed while it held the queue's lock."""
    watch(drained=True)
    make_turn(owner=alice, queued_at=NOW - SECOND, not_before=NOW - SECOND)
    watch()
    assert watch(9) == []
    assert watch(2) == ["cluster"]


def test_a_drain_that_lives_is_not_stuck_however_long_something_waits_for_capacity(watch, alice, make_turn):
    make_turn(owner=alice, queued_at=NOW - DAY, not_before=NOW - DAY)
    assert [watch(5, drained=True) for _ in range(10)] == [[]] * 10


def test_a_database_that_was_away_for_longer_makes_nobody_stuck(watch, monkeypatch, alice, make_turn):
    """R31: nobody could give a sign meanwhile; killed as stuck, the drains would interrupt whatever they stream."""
    watch(drained=True)
    make_turn(owner=alice, queued_at=NOW, not_before=NOW)
    killed = []
    monkeypatch.setattr(watch.supervisor, "_restart", lambda child: killed.append(child.name))
    monkeypatch.setattr(module, "connections", SimpleNamespace(close_all=lambda: None))

    def away(**arguments):
        raise OperationalError("the database is away")

    with monkeypatch.context() as gone:
        gone.setattr(module.hosts, "clock_sign", away)
        for _ in range(30):
            watch.at += 1
            watch.supervisor._watch()
    watch.supervisor._watch()
    assert killed == []


def test_no_drain_is_needed_while_nothing_waits(watch):
    watch(drained=True)
    assert watch(3600) == []


def test_a_child_that_has_just_started_has_time_to_show_itself(watch):
    watch()
    watch.supervisor.clock.since = watch.at + 100
    assert watch(100, ticked=False) == []


def test_what_a_killed_cluster_left_behind_ends_before_the_next_one_starts():
    """R31: its workers would live on as orphans that no supervisor knows."""
    leaves = ["sh", "-c", "sleep 30 & echo started"]
    with subprocess.Popen(leaves, start_new_session=True, stdout=subprocess.PIPE) as cluster:
        assert cluster.stdout and cluster.stdout.readline() == b"started\n"
        cluster.wait()
        child = Child("cluster", lambda: None, own_session=True, pid=cluster.pid)
        began = time.monotonic()
        child.gone()
        assert cluster.stdout.read() == b""  # the orphan held it open
        assert time.monotonic() - began < 20
    assert child.pid == 0
