"""What one settled run does to its schedule's counters, and when they block it (R10 to R13). Pure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import permutations

import pytest

from schedules.domain.states import TERMINAL
from schedules.domain.streaks import Counters, Settled, block_reason, count, grew, without_credit

NINE = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)
START = Counters(succeeded=3, reached=4, failure_streak=2, balance_skip_streak=2, through=NINE - timedelta(hours=1))


def settled(status: str, reason: str = "", *, at: datetime = NINE, **changes) -> Settled:
    reached = changes.pop("reached", status in ("succeeded", "empty", "failed", "timed_out", "interrupted", "stopped"))
    return Settled(
        kind=changes.pop("kind", "scheduled"), status=status, reason=reason, scheduled_for=at,
        current=changes.pop("current", True), reached=reached, **changes,
    )  # fmt: skip


# (status, reason, failure streak, balance streak) after a streak of 2 and 2
TABLE = [
    ("succeeded", "", 0, 0),
    ("succeeded", "output_limit", 0, 0),
    ("empty", "empty_answer", 0, 0),
    ("failed", "provider_error", 3, 0),
    ("failed", "provider_auth", 2, 0),
    ("timed_out", "deadline", 3, 0),
    ("interrupted", "worker_lost", 2, 0),
    ("stopped", "stopped_by_owner", 2, 0),
    ("expired", "", 2, 2),
    ("skipped", "overlap", 2, 2),
    ("skipped", "balance", 2, 3),
    ("skipped", "quota", 2, 2),
    ("refused", "permission_revoked", 2, 2),
    ("missed", "misfire", 2, 2),
    ("cancelled", "paused", 2, 2),
]


@pytest.mark.parametrize(("status", "reason", "failures", "balance"), TABLE)
def test_each_outcome_moves_the_streaks_as_the_table_says(status, reason, failures, balance):
    """R12."""
    after = count(START, settled(status, reason))
    assert (after.failure_streak, after.balance_skip_streak) == (failures, balance)


def test_the_table_names_every_terminal_status():
    assert {row[0] for row in TABLE} == set(TERMINAL)


@pytest.mark.parametrize("status", TERMINAL)
def test_only_a_success_counts_as_one_in_any_order_and_of_any_revision(status):
    """R10, R11: `succeeded_count` takes every row once, also an old one that settles late."""
    old = settled(status, at=NINE - timedelta(days=1), current=False)
    assert count(START, old).succeeded == START.succeeded + (status == "succeeded")


def test_a_run_that_settles_after_a_newer_one_changes_no_streak():
    """R10."""
    after = count(START, settled("succeeded", at=NINE + timedelta(hours=1)))
    late = count(after, settled("failed", "provider_error"))
    assert (late.failure_streak, late.through) == (0, after.through)
    late_success = count(START, settled("succeeded", at=NINE - timedelta(hours=2)))
    assert late_success.failure_streak == START.failure_streak


def test_the_order_in_which_three_occurrences_settle_never_lets_an_older_one_win():
    """R10: whatever order, once the newest has settled its outcome is the last word."""
    runs = [settled("failed", "provider_error", at=NINE + timedelta(hours=n)) for n in (0, 1)]
    runs.append(settled("succeeded", at=NINE + timedelta(hours=2)))
    for order in permutations(runs):
        counters = START
        for run in order:
            counters = count(counters, run)
        assert counters.failure_streak == 0


def test_a_row_that_never_ran_does_not_outdate_the_run_it_was_skipped_for():
    """R10, R12: a 09:00 run that fails after 10:00 was skipped for it still counts, else overlaps hide failures."""
    after = count(START, settled("skipped", "overlap", at=NINE + timedelta(hours=1)))
    assert count(after, settled("failed", "provider_error")).failure_streak == 3


def test_a_run_of_an_older_revision_changes_no_streak():
    """R11."""
    after = count(START, settled("failed", "provider_error", current=False))
    assert (after.failure_streak, after.balance_skip_streak, after.through) == (2, 2, START.through)


@pytest.mark.parametrize(
    ("kind", "reached", "left"),
    [("scheduled", True, 4), ("scheduled", False, 3), ("manual", True, 4), ("manual", False, 4), ("api", False, 4)],
)
def test_a_scheduled_run_that_never_reached_a_model_gives_its_place_back(kind, reached, left):
    """cadence.md: an open run counts for `max_runs` until it settles without a model; manual ones never count."""
    assert count(START, settled("stopped", kind=kind, reached=reached)).reached == left


def test_the_count_for_max_runs_never_goes_below_nothing():
    """A settle never fails for a counter that somebody set back."""
    assert count(Counters(0, 0, 0, 0, None), settled("cancelled", "paused")).reached == 0


def test_a_manual_run_counts_for_the_streaks_like_any_other():
    assert count(START, settled("failed", "provider_error", kind="manual")).failure_streak == 3
    assert count(START, settled("succeeded", kind="api")).failure_streak == 0


@pytest.mark.parametrize(
    ("run", "longer"),
    [
        (settled("failed", "provider_error"), True),
        (settled("skipped", "balance"), True),
        (settled("succeeded"), False),
        (settled("stopped", "stopped_by_owner"), False),
        (settled("failed", "provider_auth"), False),
        (settled("failed", "provider_error", at=NINE - timedelta(days=1)), False),
        (settled("failed", "provider_error", current=False), False),
    ],
)
def test_only_a_run_that_makes_a_streak_longer_can_block(run, longer):
    """R10, R11: also when a limit was lowered meanwhile."""
    assert grew(START, count(START, run)) is longer


@pytest.mark.parametrize(
    ("failures", "balance", "reason"),
    [(4, 4, ""), (5, 0, "too_many_failures"), (0, 5, "insufficient_balance"), (6, 9, "too_many_failures")],
)
def test_five_in_a_row_block(failures, balance, reason):
    """R13."""
    counters = Counters(0, 0, failures, balance, None)
    assert block_reason(counters, max_failures=5, max_balance_skips=5) == reason


def test_the_last_five_costs_are_kept_and_runs_without_one_leave_them():
    """accounts.md, Spend: the dearest of them is reserved for the next run."""
    counters = Counters(0, 0, 0, 0, None)
    for number in range(1, 8):
        counters = count(counters, replace(settled("succeeded"), cost=Decimal(number)))
    counters = count(counters, settled("skipped", "budget"))
    assert counters.costs == tuple(Decimal(number) for number in (3, 4, 5, 6, 7))


def test_an_occurrence_that_found_no_credit_as_it_fell_due_counts_and_an_older_one_does_not():
    """R12"""
    after = without_credit(START, NINE)
    assert (after.balance_skip_streak, after.through, after.reached) == (3, NINE, START.reached)
    assert without_credit(after, NINE - timedelta(hours=2)) == after
