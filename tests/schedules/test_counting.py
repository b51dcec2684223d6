"""What counts, and how often: `max_runs`, `daily_runs`, streaks, and what deletion leaves (R10, B82, gate row 14)."""

import threading

import pytest
from django.db import connections, transaction

from accounts.models import LimitSet
from chats.services.turns_recover import leases_recover
from chats.services.turns_start import turns_start
from projects.services import project_delete
from schedules.domain.streaks import Counters, Settled, count
from schedules.models import Run, Schedule
from schedules.services.editing import schedule_delete, schedule_pause
from tests.support.engine import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    begin,
    claim,
    due_schedule,
    ended,
    fire,
    ledger,
    queued_run,
    settle,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def one_a_day(db):
    LimitSet.objects.create(updated_at=NOW, scope="deployment", daily_runs=1)


def finish(now=NOW):
    for work in begin(now):
        settle(ended(work), now=now)


class TestMaxRuns:
    def test_one_that_was_replaced_before_it_started_gives_its_place_back(self, alice):
        """`max_runs` counts runs that reached a model; an open one counts until it settles without."""
        schedule = due_schedule(alice, max_runs=2, overlap_policy="replace")
        fire(NOW)
        fire(NOW + HOUR)  # no worker was free: the first is cancelled
        finish(NOW + HOUR)
        assert [row[:2] for row in ledger(schedule)] == [("cancelled", "replaced"), ("succeeded", "")]
        stored = Schedule.objects.get()
        assert (stored.reached_count, stored.completed_at) == (1, None)

    def test_what_was_due_beyond_the_last_run_gets_its_row(self, alice):
        """R5, C12: what was due and unopened at the instant of an end gets its row in the same transaction."""
        schedule = due_schedule(
            alice, max_runs=2, misfire_policy="run_all", planned_through=NOW - 4 * HOUR, next_run_at=NOW - 3 * HOUR
        )
        fire(NOW)
        covered = sum(run.missed_count or 1 for run in Run.objects.filter(schedule=schedule))
        assert covered == 4  # 05:00, 06:00, 07:00 and 08:00 passed while it was on


class TestDailyRuns:
    """`daily_runs` counts runs that reached a model (details.md); it is a stored figure."""

    def test_one_that_was_missed_for_long_counts_on_the_day_on_which_it_ran(self, alice, one_a_day):
        """`run_once` runs the latest missed one however late."""
        due_schedule(
            alice, at=NOW - 10 * DAY, cadence={"kind": "monthly", "day": 22, "time": "08:00"}, misfire_policy="run_once"
        )
        fire(NOW)
        finish(NOW)
        other = due_schedule(alice, at=NOW + HOUR)
        fire(NOW + HOUR)
        assert ledger(other)[0][:2] == ("skipped", "quota")

    def test_deleting_the_schedule_gives_no_run_back(self, alice, one_a_day):
        """Erased = the schedule, its runs and their text; usage stays."""
        run = queued_run(alice)
        finish()
        assert schedule_delete(schedule=run.schedule, now=NOW + MINUTE)
        other = due_schedule(alice, at=NOW + HOUR)
        fire(NOW + HOUR)
        assert ledger(other)[0][:2] == ("skipped", "quota")

    def test_one_that_started_and_called_nobody_does_not_count(self, alice, one_a_day):
        run = queued_run(alice)
        turns_start(turns=claim(), now=NOW)
        leases_recover(now=NOW + 2 * MINUTE)
        schedule_pause(schedule=run.schedule, now=NOW + 2 * MINUTE)
        run.refresh_from_db()
        assert run.attempts == 0 and run.settled_at
        other = due_schedule(alice, at=NOW + HOUR)
        fire(NOW + HOUR)
        assert ledger(other)[0][:2] == ("queued", "")

    @pytest.mark.postgres
    @pytest.mark.django_db(transaction=True)
    def test_two_drains_do_not_both_start_the_last_one_of_the_day(self, alice, one_a_day):
        """Execution 3: owner rows locked, then the gate; of two at once the second counts the first."""
        for _ in range(2):
            due_schedule(alice)
        fire()
        mine, theirs = claim(most=1), claim(most=1, worker="host/2/b")

        def other():
            try:
                turns_start(turns=theirs, now=NOW)
            finally:
                connections.close_all()

        beside = threading.Thread(target=other)
        with transaction.atomic():
            turns_start(turns=mine, now=NOW)
            beside.start()
            beside.join(2)  # it ends at once, or waits for us
        beside.join(10)
        assert sorted(Run.objects.values_list("status", "reason")) == [("running", ""), ("skipped", "quota")]


def test_an_older_run_that_reached_a_model_leaves_the_streak_of_newer_skips(now):
    """R10: one that settles after a newer one has settled changes no streak."""
    counters = Counters(succeeded=0, reached=0, failure_streak=0, balance_skip_streak=0, through=None)
    for hour in range(1, 4):
        counters = count(counters, Settled("scheduled", "skipped", "balance", NOW + hour * HOUR, True, False))
    assert counters.balance_skip_streak == 3
    after = count(counters, Settled("scheduled", "stopped", "stopped_by_owner", NOW, True, True))
    assert after.balance_skip_streak == 3


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_no_conversation_is_filed_in_a_project_that_is_being_deleted(alice, make_project):
    """Execution 3: project rows locked, then the gate (row 10)."""
    project = make_project(owner=alice)
    run = queued_run(alice, project=project)
    leased = claim()

    def start():
        try:
            turns_start(turns=leased, now=NOW)
        finally:
            connections.close_all()

    beside = threading.Thread(target=start)
    with transaction.atomic():
        project_delete(project=project, now=NOW)
        beside.start()
        beside.join(2)  # it ends at once, or waits for us
    beside.join(10)
    run.refresh_from_db()
    assert (run.status, run.reason) == ("refused", "project_deleted")
