"""What a start asks before the gate: lateness after a stop, a retry's time, and who runs beside it (R38, Retries)."""

from __future__ import annotations

import pytest

from accounts.models import LimitSet
from accounts.services.stops import global_stop_set
from chats.models import Turn
from chats.services.turns_recover import leases_recover
from schedules.models import Run
from schedules.services.editing import schedule_edit
from tests.support.engine import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    begin,
    claim,
    due_schedule,
    ended,
    failed,
    fire,
    ledger,
    queued_run,
    settle,
)

pytestmark = pytest.mark.django_db
DAILY = {"kind": "daily", "time": "08:00"}


def outcome(run: Run) -> tuple[str, str]:
    run.refresh_from_db()
    return run.status, run.reason


class TestAfterAStop:
    """R38: when the global stop ends, what was queued meanwhile is asked for its lateness again."""

    def stopped(self, olivia, *, until):
        """Nothing was begun when the stop came; it ends at `until`."""
        global_stop_set(on=True, reason="Maintenance", actor=olivia, now=NOW + SECOND)
        assert claim(NOW + 5 * SECOND) == []
        global_stop_set(on=False, actor=olivia, now=until)

    def test_beyond_the_grace_it_is_missed_without_a_call(self, alice, olivia):
        run = queued_run(alice, cadence=DAILY, misfire_grace_seconds=900)
        self.stopped(olivia, until=NOW + 3 * HOUR)
        assert begin(NOW + 3 * HOUR + SECOND) == []
        assert outcome(run) == ("missed", "misfire")
        assert Turn.objects.get().attempts_made == 0

    def test_within_the_grace_it_starts(self, alice, olivia):
        queued_run(alice, cadence=DAILY, misfire_grace_seconds=900)
        self.stopped(olivia, until=NOW + 15 * MINUTE)
        assert len(begin(NOW + 15 * MINUTE + SECOND)) == 1

    def test_what_counts_is_when_the_stop_ended_and_not_when_a_worker_had_time(self, alice, olivia):
        """Waiting for capacity is not lateness, before the stop or after it."""
        queued_run(alice, cadence=DAILY, misfire_grace_seconds=900)
        self.stopped(olivia, until=NOW + 15 * MINUTE)
        assert len(begin(NOW + 5 * HOUR)) == 1

    @pytest.mark.parametrize("policy", ["run_once", "run_all"])
    def test_whoever_wants_late_runs_gets_them(self, alice, olivia, policy):
        queued_run(alice, cadence=DAILY, misfire_policy=policy)
        self.stopped(olivia, until=NOW + 3 * HOUR)
        assert len(begin(NOW + 3 * HOUR + SECOND)) == 1

    def test_a_run_by_hand_is_never_late(self, alice, olivia):
        queued_run(alice, cadence=DAILY)
        Run.objects.update(kind="manual")
        self.stopped(olivia, until=NOW + 3 * HOUR)
        assert len(begin(NOW + 3 * HOUR + SECOND)) == 1

    def test_what_was_queued_after_the_stop_is_not_asked(self, alice, olivia):
        self.stopped(olivia, until=NOW + 3 * HOUR)
        queued_run(alice, at=NOW + 4 * HOUR, cadence={"kind": "daily", "time": "12:00"})
        assert len(begin(NOW + 9 * HOUR)) == 1

    def test_a_wait_for_capacity_alone_is_no_lateness(self, alice):
        LimitSet.objects.create(updated_at=NOW, scope="user", user=alice, max_concurrent=1)
        for _ in range(2):
            queued_run(alice, cadence=DAILY)
        [first] = begin()
        assert begin(NOW + HOUR) == []
        settle(ended(first), now=NOW + 5 * HOUR)
        assert len(begin(NOW + 5 * HOUR)) == 1


class TestRetry:
    """A retry starts inside its window and before the schedule's next occurrence, whatever it had to wait for."""

    def test_none_starts_once_the_next_occurrence_is_due(self, alice):
        schedule = due_schedule(alice)
        fire()
        [work] = begin(NOW + HOUR - 30 * SECOND)
        settle(failed(work), now=NOW + HOUR - 20 * SECOND)
        assert begin(NOW + HOUR) == []  # the clock has not looked yet
        assert ledger(schedule) == [("failed", "provider_unreachable", NOW)]

    def test_none_starts_when_the_clock_has_opened_the_next_occurrence_before(self, alice):
        schedule = due_schedule(alice)
        fire()
        [work] = begin(NOW + HOUR - 30 * SECOND)
        settle(failed(work), now=NOW + HOUR - 20 * SECOND)
        fire(NOW + HOUR)
        assert begin(NOW + HOUR + SECOND) == []
        assert ledger(schedule) == [("failed", "provider_unreachable", NOW), ("skipped", "overlap", NOW + HOUR)]

    @pytest.mark.parametrize(("after", "starts"), [(60, 1), (61, 0)])
    def test_none_starts_after_its_window(self, alice, after, starts):
        run = queued_run(alice, cadence=DAILY, retry_window_seconds=60)
        [work] = begin()
        settle(failed(work), now=NOW + SECOND)
        assert len(begin(NOW + after * SECOND)) == starts
        assert outcome(run) == (("running", "") if starts else ("failed", "provider_unreachable"))

    @pytest.mark.parametrize(
        ("began", "window"), [(NOW, 0), (NOW + HOUR - 30 * SECOND, 3600)], ids=["no window", "next one due"]
    )
    def test_what_a_lost_worker_left_is_no_retry(self, alice, began, window):
        """Recovery: a worker that was killed costs nobody the run."""
        queued_run(alice, retry_window_seconds=window)
        begin(began)
        if window:
            fire(NOW + HOUR)
        back = began + 61 * SECOND
        leases_recover(now=back)
        assert len(begin(back)) == 1


class TestBeside:
    """Overlap: a stricter rule also counts what was opened when the rule was `allow`."""

    @pytest.mark.parametrize("policy", ["queue_one", "replace"])
    def test_a_newer_run_waits_until_the_older_one_has_ended(self, alice, policy):
        schedule = due_schedule(alice, overlap_policy="allow")
        fire()
        [older] = begin()
        schedule_edit(schedule=schedule, body={"overlap_policy": policy}, now=NOW + SECOND)
        fire(NOW + HOUR)
        assert begin(NOW + HOUR) == []
        assert [row[0] for row in ledger(schedule)] == ["running", "queued"]
        settle(ended(older), now=NOW + HOUR + SECOND)
        assert len(begin(NOW + HOUR + 5 * SECOND)) == 1

    def test_under_allow_nobody_waits(self, alice):
        due_schedule(alice, overlap_policy="allow")
        fire()
        begin()
        fire(NOW + HOUR)
        assert len(begin(NOW + HOUR)) == 1
