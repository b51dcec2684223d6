"""The ticking loop of a worker host: what a tick does at its instant, and a clock that was set wrong (C15, R22)."""

import threading

import pytest
from django.db import OperationalError

from accounts.models import GlobalStop
from chats.models import Turn, WorkerHost
from schedules import clock as clock_module
from schedules.clock import Clock
from schedules.models import Run, Schedule
from schedules.services.reconcile import marks_put_back
from tests.support.engine import DAY, HOUR, MINUTE, NOW, SECOND, begin, due_schedule, ledger, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def hints(monkeypatch):
    """Collect the hints instead of sending them."""
    sent: list[str] = []
    monkeypatch.setattr(clock_module, "hint_drain", lambda: sent.append("hint") or True)
    return sent


@pytest.fixture
def world(monkeypatch, hints):
    """A host whose clock ticks by hand: `world(seconds)` lets time pass, `jump` sets the wall clock."""

    class World:
        def __init__(self):
            WorkerHost.objects.create(name="host", hostname="host", started_at=NOW)
            self.wall, self.boot, self.ticking, self.hints = NOW, 5000.0, Clock(host="host"), hints
            monkeypatch.setattr(clock_module.clock, "boot_seconds", lambda: self.boot)
            monkeypatch.setattr(clock_module.clock, "monotonic", lambda: self.boot)

        def __call__(self, seconds=1, *, jump=0 * SECOND):
            self.wall += seconds * SECOND + jump
            self.boot += seconds
            return self.ticking.tick(self.wall)

        def restarted(self):
            self.ticking = Clock(host="host")

    return World()


def test_a_tick_fires_what_is_due_hints_the_cluster_and_says_that_it_lives(alice, world):
    due_schedule(alice, at=NOW + SECOND)
    assert world() == 1
    assert world.hints
    assert WorkerHost.objects.get().clock_at == NOW + SECOND
    assert Run.objects.get().status == "queued"


def test_a_tick_with_nothing_due_sends_no_hint(alice, world):
    due_schedule(alice, at=NOW + HOUR)
    assert world() == 0
    assert world.hints == []


def test_more_than_a_batch_is_fired_in_one_tick_and_hinted_after_each_of_the_first_two(
    alice, make_agent, world, monkeypatch
):
    monkeypatch.setattr(clock_module, "FIRST", 2)
    monkeypatch.setattr(clock_module, "BATCH", 3)
    agent = make_agent()
    for _ in range(10):
        due_schedule(alice, agent=agent)
    seen = []
    monkeypatch.setattr(clock_module, "hint_drain", lambda: seen.append(Turn.objects.count()) or True)
    assert world() == 10
    assert seen[:3] == [2, 5, 10]


class TestLostHint:
    """R22: the hint is only a hint; a queued run whose hint was lost is hinted again within 5 s."""

    def test_within_five_ticks(self, alice, world):
        due_schedule(alice)
        world()
        world.hints.clear()  # the broker lost it
        for _ in range(5):
            world()
        assert world.hints

    def test_ticks_that_come_a_little_early_make_no_gap_of_six_seconds(self, alice, world):
        due_schedule(alice)
        world()
        world.hints.clear()
        for _ in range(5):
            world(0.999)
        assert world.hints

    def test_no_hint_while_a_worker_has_it_or_while_its_wait_runs(self, alice, world):
        due_schedule(alice)
        world()
        begin(world.wall)
        world.hints.clear()
        for _ in range(6):
            world()
        assert world.hints == []

    def test_no_hint_under_the_global_stop_except_for_what_people_wait_for(self, alice, make_turn, world):
        """Gate row 1: what is queued stays queued, and no worker is woken for it."""
        due_schedule(alice)
        world()
        GlobalStop.objects.create(on=True, reason="Maintenance")
        world.hints.clear()
        for _ in range(6):
            world()
        assert world.hints == []
        make_turn(owner=alice, lane="interactive")
        for _ in range(6):
            world()
        assert world.hints


class TestJump:
    """C15: nothing is opened until a clock that jumped has stood for 60 s; then the true next occurrence is next."""

    def test_two_days_ahead_for_ten_seconds_leaves_no_trace(self, alice, world):
        """B63."""
        schedule = due_schedule(alice, at=NOW + HOUR)
        world()
        before = row(schedule)
        world(jump=2 * DAY)
        for _ in range(9):
            world()
        world(jump=-2 * DAY)
        assert row(schedule) == before
        assert not Run.objects.exists()

    def test_it_says_that_it_lives_while_it_waits(self, alice, world):
        """R31: else its supervisor would start a clock that knows nothing of the jump."""
        world()
        world(jump=2 * DAY)
        assert WorkerHost.objects.get().clock_at == world.wall

    def test_an_hour_back_for_ten_minutes_runs_nothing_twice_and_loses_nothing(self, alice, world, limit):
        """R1, R5: what comes again has its row, and what fell due meanwhile gets one."""
        limit(alice, min_interval_seconds=300)
        schedule = due_schedule(
            alice, cadence={"kind": "cron", "expression": "*/5 * * * *"}, overlap_policy="allow", at=NOW + 5 * MINUTE,
        )  # fmt: skip
        for _ in range(81):
            world(60)
        ran = ledger(schedule)
        assert [at for _, _, at in ran] == [NOW + n * 5 * MINUTE for n in range(1, 17)]
        world(1, jump=-HOUR)
        for _ in range(10):
            world(60)
        assert ledger(schedule) == ran
        world(1, jump=HOUR)
        for _ in range(9):
            world(60)
        assert ledger(schedule)[16:] == [
            ("missed", "passed_over", NOW + 85 * MINUTE),
            ("queued", "", NOW + 90 * MINUTE),
            ("queued", "", NOW + 95 * MINUTE),
            ("queued", "", NOW + 100 * MINUTE),
        ]
        schedule.refresh_from_db()
        assert (schedule.next_run_at, schedule.blocked_reason) == (NOW + 105 * MINUTE, "")

    def test_ahead_for_longer_than_is_believed_and_back_leaves_the_true_next_occurrence(self, alice, world):
        """The mark goes back to now, rows of what has not come yet go, and the true occurrence runs."""
        schedule = due_schedule(
            alice, cadence={"kind": "daily", "time": "09:00"}, at=NOW + HOUR, misfire_policy="run_once"
        )
        world()
        world(jump=30 * DAY)
        for _ in range(3):
            world(60)
        assert [status for status, _, _ in ledger(schedule)] == ["missed", "queued"]
        world(jump=-30 * DAY)
        world(61)
        schedule.refresh_from_db()
        assert (schedule.planned_through, schedule.next_run_at) == (world.wall, NOW + HOUR)
        assert [status for status, _, _ in ledger(schedule)] == ["queued"]
        world(HOUR.total_seconds())
        assert ("queued", "", NOW + HOUR) in ledger(schedule) or ("skipped", "overlap", NOW + HOUR) in ledger(schedule)

    def test_a_window_that_began_before_ends_where_time_really_is(self, alice, world):
        """R5: the part that has passed stays missed, exactly counted; the rest is still to come."""
        schedule = due_schedule(alice, planned_through=NOW - 2 * HOUR - MINUTE, next_run_at=NOW + DAY)
        world()
        world(jump=2 * DAY)
        world(61)
        [window] = [run for run in Run.objects.all() if run.status == "missed"]
        assert window.scheduled_for == NOW - 2 * HOUR
        world(jump=-2 * DAY)
        world(61)
        world(5)
        window.refresh_from_db()
        assert (window.missed_until, window.missed_count) == (NOW, 3)
        schedule.refresh_from_db()
        assert schedule.next_run_at == NOW + HOUR

    def test_a_retry_wait_and_a_lease_of_the_wrong_time_do_not_last_until_then(self, alice, make_turn, world):
        wrong = NOW + 2 * DAY
        waits = make_turn(owner=alice, queued_at=wrong, not_before=wrong + 40 * SECOND)
        leased = make_turn(
            owner=alice, status="running", leased_by="other/1/a", leased_at=wrong,
            lease_expires_at=wrong + MINUTE,
        )  # fmt: skip
        world()
        world(jump=-HOUR)
        world(61)
        waits.refresh_from_db()
        leased.refresh_from_db()
        assert (waits.queued_at, waits.not_before) == (world.wall, world.wall + 40 * SECOND)
        assert leased.lease_expires_at <= world.wall + MINUTE

    def test_many_marks_are_put_back_a_batch_a_tick(self, alice, make_agent, world, monkeypatch):
        agent = make_agent()
        for _ in range(7):
            due_schedule(alice, agent=agent, planned_through=NOW + 20 * DAY, next_run_at=NOW + 21 * DAY)
        monkeypatch.setattr(clock_module, "marks_put_back", lambda *, now: marks_put_back(now=now, most=3))
        world()
        world(jump=-HOUR)
        for _ in range(62):
            world()
        ahead = Schedule.objects.filter(planned_through__gt=world.wall)
        left = [ahead.count()]
        for _ in range(3):
            world()
            left.append(ahead.count())
        assert left[-1] == 0
        assert left == sorted(left, reverse=True)


def test_a_tick_that_raises_is_not_the_last(alice, monkeypatch, hints):
    """R31: a database restart is nobody's end."""
    ticking = Clock(host="host")
    told = []

    def tick(now):
        told.append(now)
        if len(told) == 1:
            raise OperationalError("the database is away")
        ticking.over.set()
        return 0

    monkeypatch.setattr(ticking, "tick", tick)
    monkeypatch.setattr(ticking.over, "wait", lambda seconds: True)
    thread = threading.Thread(target=ticking.run)
    thread.start()
    thread.join(10)
    assert len(told) == 2
