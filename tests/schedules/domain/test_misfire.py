"""What becomes of occurrences that are due: run, missed, skipped; each accounted for once."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import CATALOGUE
from schedules.domain.misfire import count_due, plan, plan_backlog, plan_due, spread_of
from schedules.domain.occurrences import Occurrence, occurrences
from tests.schedules.domain.cadences import cron, read

NOW = datetime(2026, 6, 5, 12, tzinfo=UTC)
GRACE = 900


def ago(*minutes):
    """Return occurrences that were due so many minutes ago, oldest first."""
    instants = [NOW - timedelta(minutes=number) for number in minutes]
    return [Occurrence(at, at.replace(tzinfo=None)) for at in instants]


def planned(due, policy="miss", grace=GRACE, spread=0, now=NOW, **given_):
    return plan(due, now=now, spread_seconds=spread, grace_seconds=grace, policy=policy, **given_)


def told(rows):
    return [(row.verdict, row.reason, row.count) for row in rows]


def test_one_on_time_runs_and_is_not_late():
    (row,) = planned(ago(0))
    assert (row.verdict, row.reason, row.late, row.serial) == ("run", None, False, False)


@pytest.mark.parametrize(("seconds", "late"), [(30, False), (31, True), (900, True)])
def test_within_the_grace_it_runs_and_is_late_after_30_seconds(seconds, late):
    """C9."""
    (row,) = planned(ago(seconds / 60))
    assert (row.verdict, row.late) == ("run", late)


@pytest.mark.parametrize(("policy", "verdict"), [("miss", "missed"), ("run_once", "run"), ("run_all", "run")])
def test_outside_the_grace_the_policy_decides(policy, verdict):
    """C10."""
    (row,) = planned(ago(901 / 60), policy)
    assert row.verdict == verdict


def test_a_grace_of_nothing_still_lets_what_is_on_time_run():
    """An occurrence that the clock notices within 30 s is on time, so it is no misfire."""
    assert [row.verdict for row in planned(ago(0.5), grace=0)] == ["run"]
    assert [row.verdict for row in planned(ago(0.52), grace=0)] == ["missed"]


def test_of_several_only_the_newest_runs_and_the_others_are_one_window():
    """C9."""
    rows = planned(ago(12, 8, 4))
    assert told(rows) == [("missed", "passed_over", 2), ("run", None, 1)]
    assert (rows[0].first, rows[0].last) == tuple(ago(12, 8))


def test_a_week_offline_is_one_row():
    """C10: one window with first, last and count."""
    due = ago(*range(10_000, 100, -100))
    (row,) = planned(due)
    assert (row.verdict, row.reason, row.count, row.first, row.last) == ("missed", "misfire", 99, due[0], due[-1])


def test_run_once_runs_the_latest_however_late():
    rows = planned(ago(9000, 6000, 3000), "run_once")
    assert told(rows) == [("missed", "passed_over", 2), ("run", None, 1)]
    assert rows[-1].late


def test_run_all_runs_the_newest_ten_oldest_first_one_after_the_other():
    """C9: at most 10, each waiting for the one before."""
    due = ago(*range(150, 0, -10))
    rows = planned(due, "run_all")
    assert told(rows)[0] == ("missed", "passed_over", 5)
    assert [row.first for row in rows[1:]] == due[5:]
    assert all(row.verdict == "run" and row.serial for row in rows[1:])


def test_a_single_one_under_run_all_waits_for_nothing():
    assert not planned(ago(1), "run_all")[0].serial


def test_dates_left_out_and_the_marked_one_get_their_own_row_and_break_a_window():
    """cadence.md: both keep their row when the time comes."""
    due = ago(4320, 2880, 1440, 0)
    rows = planned(due, skip_dates=frozenset({date(2026, 6, 3)}), skip_next=due[3].at)
    assert told(rows) == [
        ("missed", "misfire", 1),
        ("skipped", "skip_date", 1),
        ("missed", "misfire", 1),
        ("skipped", "skip_next", 1),
    ]


def test_the_date_left_out_is_the_date_that_the_clock_shows():
    late_evening = Occurrence(datetime(2026, 6, 5, 15, 30, tzinfo=UTC), datetime(2026, 6, 6, 0, 30))
    (row,) = planned([late_evening], now=late_evening.at, skip_dates=frozenset({date(2026, 6, 6)}))
    assert row.verdict == "skipped"


def test_what_is_left_out_does_not_pass_the_older_one_over():
    """The newest that may run runs."""
    due = ago(10, 0)
    rows = planned(due, skip_next=due[1].at)
    assert [row.verdict for row in rows] == ["run", "skipped"]


def test_the_spread_moves_what_is_due_and_what_is_late():
    """C8: grace and lateness count from nominal plus spread."""
    (row,) = planned(ago(2), spread=100)
    assert not row.late
    assert planned(ago(16), spread=100, grace=900)[0].verdict == "run"


@settings(max_examples=300, deadline=None)
@given(
    minutes=st.lists(st.integers(0, 3000), max_size=40, unique=True),
    policy=st.sampled_from(["miss", "run_once", "run_all"]),
    grace=st.sampled_from([0, 60, 900, 86_400]),
    skipped=st.sets(st.sampled_from([date(2026, 6, 3), date(2026, 6, 4), date(2026, 6, 5)])),
    marked=st.integers(0, 3000),
)
def test_every_occurrence_is_in_exactly_one_row_in_order(minutes, policy, grace, skipped, marked):
    """C10, R5: rows cover what is due without a hole or an overlap, under any policy."""
    due = ago(*sorted(minutes, reverse=True))
    marked_at = NOW - timedelta(minutes=marked)
    rows = planned(due, policy, grace, skip_dates=frozenset(skipped), skip_next=marked_at)
    covered = []
    for row in rows:
        part = [one for one in due if row.first.at <= one.at <= row.last.at]
        assert len(part) == row.count
        assert row.verdict == "missed" or row.count == 1
        assert row.reason is None or row.reason in CATALOGUE
        covered += part
    assert covered == due
    assert not any(one.verdict == other.verdict == "missed" for one, other in pairwise(rows))
    running = [row for row in rows if row.verdict == "run"]
    assert len(running) <= (10 if policy == "run_all" else 1)
    if policy != "miss":
        left = [one for one in due if one.local.date() not in skipped and one.at != marked_at]
        assert len(running) == min(len(left), 10 if policy == "run_all" else 1)


EVERY_MINUTE = cron("* * * * *")


def due_rows(after, cadence=EVERY_MINUTE, policy="miss", **given_):
    return plan_due(
        cadence, "UTC", after, now=NOW, spread_seconds=0, grace_seconds=GRACE, policy=policy, **given_
    )  # fmt: skip


def test_what_firing_calls_lists_and_plans():
    rows = due_rows(NOW - timedelta(minutes=3))
    assert told(rows) == [("missed", "passed_over", 2), ("run", None, 1)]


@pytest.mark.parametrize(("policy", "running", "reason"), [("miss", 1, "misfire"), ("run_all", 10, "passed_over")])
def test_a_window_of_more_than_a_thousand_is_left_to_be_counted_outside_the_tick(policy, running, reason):
    """details.md, cadence: what runs is planned in the tick, the rest is one window without a number."""
    rows = due_rows(NOW - timedelta(days=1), policy=policy)
    window = rows[0]
    assert (window.verdict, window.reason, window.count) == ("missed", reason, None)
    assert window.first.at == NOW - timedelta(days=1) + timedelta(minutes=1)
    assert [row.verdict for row in rows[1:]] == ["run"] * running
    assert rows[1].first.at - window.last.at == timedelta(minutes=1)
    (exact,) = plan_backlog(EVERY_MINUTE, "UTC", window.first.at, window.last.at, reason=reason)
    assert exact.count == 1440 - running == count_due(EVERY_MINUTE, "UTC", NOW - timedelta(days=1), window.last.at)


def test_the_exact_rows_of_a_long_window_show_the_dates_left_out():
    """R5: every occurrence of the window, also one of a date left out, has exactly one row."""
    hourly = read({"kind": "hourly", "minute": 0})
    skip = frozenset({date(2026, 5, 1)})
    rows = due_rows(NOW - timedelta(days=60), hourly, most=100, skip_dates=skip)
    window = rows[0]
    exact = plan_backlog(hourly, "UTC", window.first.at, window.last.at, skip_dates=skip)
    assert sum(row.verdict == "skipped" for row in exact) == 24
    assert [row.verdict for row in exact][::25] == ["missed", "missed"]
    assert sum(row.count for row in exact) + len(rows[1:]) == 60 * 24


def test_the_end_of_the_schedule_bounds_what_is_due():
    rows = due_rows(NOW - timedelta(minutes=10), until=NOW - timedelta(minutes=4))
    assert rows[-1].last.at == NOW - timedelta(minutes=4)
    assert due_rows(NOW, until=NOW - timedelta(minutes=4)) == []


def test_nothing_is_due_before_the_spread_is_over():
    """C8."""
    daily = read({"kind": "daily", "time": "12:00"})
    given_ = {"grace_seconds": GRACE, "policy": "miss"}
    assert plan_due(daily, "UTC", NOW - timedelta(hours=1), now=NOW, spread_seconds=1, **given_) == []
    rows = plan_due(daily, "UTC", NOW - timedelta(hours=1), now=NOW + timedelta(seconds=1), spread_seconds=1, **given_)
    assert [row.verdict for row in rows] == ["run"]


def test_the_spread_is_stable_below_its_limit_and_differs_between_schedules():
    """C8: a stable hash of the schedule's id."""
    keys = [f"sch_{number}" for number in range(500)]
    offsets = [spread_of(key, 120, "daily") for key in keys]
    assert offsets == [spread_of(key, 120, "daily") for key in keys]
    assert spread_of("sch_0", 120, "daily") == 108
    assert {type(offset) for offset in offsets} == {int}
    assert min(offsets) >= 0
    assert max(offsets) < 120
    assert len(set(offsets)) > 100


@pytest.mark.parametrize(("limit", "kind"), [(0, "daily"), (120, "once"), (1, "daily")])
def test_there_is_no_spread_without_a_limit_or_for_once(limit, kind):
    """details.md, cadence."""
    assert spread_of("sch_1", limit, kind) == 0


def test_a_long_absence_costs_little_in_the_tick():
    """A year of every five minutes: a thousand and one are listed, then the newest, not all 105,000."""
    cadence = cron("*/5 * * * *")
    looked = []

    class Counted(Occurrence):
        def __new__(cls, *args, **kwargs):
            looked.append(1)
            return super().__new__(cls)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.walltime.occurrences.Occurrence", Counted)
        rows = due_rows(NOW - timedelta(days=365), cadence)
    assert rows[0].count is None
    assert 1000 < len(looked) < 5000
    assert occurrences(cadence, "UTC", NOW - timedelta(minutes=6), NOW, limit=5)[-1].at == rows[-1].last.at
