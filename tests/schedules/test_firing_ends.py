"""When a rule ends: `until`, `max_runs`, `once` (cadence.md, Kinds; B33)."""

import pytest

from chats.services.turns_start import turns_start
from schedules.models import Run, Schedule
from tests.support.engine import DAY, HOUR, MINUTE, NOW, begin, claim, due_schedule, ended, fire, ledger, settle

pytestmark = pytest.mark.django_db


def finish(now=NOW):
    for work in begin(now):
        settle(ended(work), now=now)


def test_a_rule_that_ends_completes_with_its_last_occurrence_and_the_end_is_inclusive(alice):
    schedule = due_schedule(alice, until=NOW + HOUR, overlap_policy="allow")
    for hour in range(4):
        fire(NOW + hour * HOUR)
    assert [row[2] for row in ledger(schedule)] == [NOW, NOW + HOUR]
    assert Schedule.objects.get().completed_at == NOW + HOUR


def test_what_fell_due_before_the_end_gets_its_row_after_it(alice):
    """R5."""
    schedule = due_schedule(alice, until=NOW + HOUR)
    fire(NOW + DAY)
    assert Run.objects.get(schedule=schedule).missed_count == 2
    assert Schedule.objects.get().completed_at == NOW + DAY


def test_run_three_times_runs_three_times(alice):
    """B33: no fourth after the third, whatever happens then."""
    schedule = due_schedule(alice, max_runs=3)
    for hour in range(6):
        fire(NOW + hour * HOUR)
        finish(NOW + hour * HOUR)
    assert [row[0] for row in ledger(schedule)] == ["succeeded"] * 3
    stored = Schedule.objects.get()
    assert (stored.completed_at, stored.next_run_at, stored.reached_count) == (NOW + 2 * HOUR, None, 3)


def test_an_open_run_counts(alice):
    schedule = due_schedule(alice, max_runs=2, overlap_policy="allow")
    for hour in range(4):
        fire(NOW + hour * HOUR)
    assert [row[0] for row in ledger(schedule)] == ["queued"] * 2
    assert Schedule.objects.get().completed_at == NOW + HOUR


@pytest.mark.parametrize("ending", ["missed", "skipped", "refused"])
def test_what_never_ran_does_not_count(alice, ending, limit):
    fields = {"skip_next_at": NOW} if ending == "skipped" else {}
    schedule = due_schedule(alice, max_runs=1, **fields)
    if ending == "refused":
        limit(alice, enabled=False)
    fire(NOW + (20 * MINUTE if ending == "missed" else 0 * MINUTE))
    assert [row[0] for row in ledger(schedule)] == [ending]
    stored = Schedule.objects.get()
    assert (stored.reached_count, stored.completed_at, stored.next_run_at) == (0, None, NOW + HOUR)


def test_a_run_that_settles_without_a_model_gives_its_place_back_and_the_schedule_goes_on(alice):
    """An open one counts until it settles without; what had completed by it is armed again from now on."""
    schedule = due_schedule(alice, max_runs=1)
    fire()
    assert Schedule.objects.get().completed_at == NOW
    alice.groups.clear()
    turns_start(turns=claim(), now=NOW + MINUTE)
    assert ledger(schedule) == [("refused", "permission_revoked", NOW)]
    stored = Schedule.objects.get()
    assert (stored.completed_at, stored.reached_count, stored.next_run_at) == (None, 0, NOW + HOUR)


def test_of_several_due_at_once_no_more_run_than_are_left(alice):
    """C9 under `run_all`: the oldest ones, and the rule has ended; the others get their row (R5, C12)."""
    schedule = due_schedule(
        alice, max_runs=2, misfire_policy="run_all", planned_through=NOW - 4 * HOUR, next_run_at=NOW - 3 * HOUR
    )
    assert fire() == 2
    assert ledger(schedule) == [
        ("queued", "", NOW - 3 * HOUR),
        ("queued", "", NOW - 2 * HOUR),
        ("cancelled", "runs_used_up", NOW - HOUR),
        ("cancelled", "runs_used_up", NOW),
    ]
    assert Schedule.objects.get().completed_at == NOW


def test_a_manual_run_neither_counts_nor_moves_the_next(alice, make_run):
    """R7."""
    schedule = due_schedule(alice, max_runs=1)
    make_run(schedule=schedule, kind="manual", scheduled_for=NOW - MINUTE)
    fire()
    assert Run.objects.filter(schedule=schedule, kind="scheduled", status="queued").count() == 1


class TestOnce:
    ONCE = {"kind": "once", "at": "2026-06-01T08:00"}

    @pytest.mark.parametrize("case", ["ran", "missed", "refused", "skipped"])
    def test_it_is_completed_as_soon_as_its_occurrence_has_a_row_whatever_that_says(self, alice, case, limit):
        schedule = due_schedule(alice, cadence=self.ONCE, skip_dates=["2026-06-01"] if case == "skipped" else [])
        if case == "refused":
            limit(alice, enabled=False)
        late = NOW + DAY if case == "missed" else NOW
        fire(late)
        assert len(ledger(schedule)) == 1
        stored = Schedule.objects.get()
        assert (stored.completed_at, stored.next_run_at) == (late, None)
        assert fire(late + DAY) == 0

    def test_run_once_runs_it_however_late(self, alice):
        """C10: by the policy, not by the grace."""
        due_schedule(alice, cadence=self.ONCE, misfire_policy="run_once")
        assert fire(NOW + 300 * DAY) == 1
