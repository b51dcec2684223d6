"""Late and missed at the fire (C9, C10, C12, C14): from the calendar alone, before anything else is asked."""

import pytest

from accounts.models import Notice
from schedules.models import Run, Schedule
from tests.support.engine import DAY, HOUR, MINUTE, NOW, SECOND, due_schedule, fire, ledger

pytestmark = pytest.mark.django_db
FIVE = {"kind": "cron", "expression": "*/5 * * * *"}


def since(alice, hours: int, **fields):
    """Return an hourly schedule whose last row is `hours` hours and a minute before now."""
    first = NOW - (hours - 1) * HOUR
    return due_schedule(
        alice, planned_through=NOW - hours * HOUR, next_run_at=first, next_occurrence_at=first, **fields
    )


@pytest.mark.parametrize(
    ("late_by", "status", "late"),
    [(0, "queued", False), (30, "queued", False), (31, "queued", True), (900, "queued", True), (901, "missed", None)],
)
def test_within_the_grace_it_runs_and_is_marked_late(alice, late_by, status, late):
    """C9, B43: a 76-second restart over the instant loses nothing."""
    due_schedule(alice)
    fire(NOW + late_by * SECOND)
    run = Run.objects.get()
    assert (run.status, run.scheduled_for) == (status, NOW)
    assert late is None or run.late is late
    assert (run.missed_count, run.missed_until) == ((1, NOW) if status == "missed" else (None, None))


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        ("miss", [("missed", "misfire", 3)]),
        ("run_once", [("missed", "passed_over", 2), ("queued", "", None)]),
        ("run_all", [("queued", "", None)] * 3),
    ],
)
def test_beyond_the_grace_the_policy_decides(alice, policy, rows):
    """C10: a window of missed ones is one row; every occurrence is accounted for exactly once."""
    schedule = since(alice, 3, misfire_policy=policy)
    fire(NOW + 20 * MINUTE)
    assert list(Run.objects.order_by("scheduled_for").values_list("status", "reason", "missed_count")) == rows
    schedule.refresh_from_db()
    assert (schedule.planned_through, schedule.next_run_at) == (NOW, NOW + HOUR)
    if policy == "miss":
        window = Run.objects.get()
        assert (window.scheduled_for, window.missed_until) == (NOW - 2 * HOUR, NOW)


@pytest.mark.parametrize("policy", ["miss", "run_once", "run_all"])
def test_of_several_within_the_grace_only_the_newest_runs_unless_all_shall(alice, policy):
    """C9."""
    schedule = due_schedule(
        alice, cadence=FIVE, planned_through=NOW - 11 * MINUTE, next_run_at=NOW - 10 * MINUTE, misfire_policy=policy
    )
    fire(NOW)
    passed_over = [("missed", "passed_over", NOW - 10 * MINUTE)]
    all_of_them = [("queued", "", NOW - n * MINUTE) for n in (10, 5)]
    assert ledger(schedule) == [*(all_of_them if policy == "run_all" else passed_over), ("queued", "", NOW)]


def test_run_all_runs_the_newest_ten_oldest_first_each_waiting_for_the_one_before(alice):
    """C9: one series, in the order of the occurrences, whatever the overlap policy says."""
    schedule = since(alice, 15, misfire_policy="run_all", overlap_policy="allow")
    assert fire(NOW + MINUTE) == 10
    window, *ran = Run.objects.order_by("scheduled_for").select_related("turn")
    assert (window.status, window.missed_count, window.missed_until) == ("missed", 5, NOW - 10 * HOUR)
    assert [run.scheduled_for for run in ran] == [NOW - n * HOUR for n in range(9, -1, -1)]
    assert {run.turn.series for run in ran} == {f"schedule:{schedule.pk}"}
    assert [run.turn.series_order for run in ran] == [run.scheduled_for for run in ran]


def test_run_all_waits_for_a_run_that_was_unfinished_before_as_well(alice):
    """C9: none of the due ones is skipped for it, also not under the rule `skip`."""
    schedule = due_schedule(alice, misfire_policy="run_all", misfire_grace_seconds=7200)
    fire()
    fire(NOW + 3 * HOUR)
    assert ledger(schedule) == [("queued", "", NOW + n * HOUR) for n in range(4)]


def test_a_month_offline_writes_one_row(alice):
    """C10, B45."""
    since(alice, 24 * 30)
    fire(NOW + 20 * MINUTE)
    run = Run.objects.get()
    assert (run.status, run.missed_count, run.missed_until) == ("missed", 720, NOW)


def test_a_window_too_long_to_be_counted_in_a_tick_is_counted_later(alice):
    """details.md: more than 1,000; the count follows outside the tick (`reconcile`)."""
    since(alice, 24 * 60)
    fire(NOW + 20 * MINUTE)
    run = Run.objects.get()
    assert (run.status, run.missed_count, run.missed_until) == ("missed", None, NOW)


def test_lateness_is_asked_before_everything_else(alice, make_agent, bob):
    """C10: what is missed is missed, whoever may run; nothing is blocked by it."""
    schedule = due_schedule(alice, agent=make_agent(owner=bob))
    alice.groups.clear()
    fire(NOW + HOUR - MINUTE)
    assert ledger(schedule) == [("missed", "misfire", NOW)]
    assert Schedule.objects.get().blocked_reason == ""


def test_skipped_dates_keep_their_rows_between_the_missed_ones(alice):
    schedule = due_schedule(
        alice, cadence={"kind": "daily", "time": "08:00"}, planned_through=NOW - 4 * DAY,
        next_run_at=NOW - 3 * DAY, skip_dates=["2026-05-30"],
    )  # fmt: skip
    fire(NOW + MINUTE)
    assert ledger(schedule) == [
        ("missed", "misfire", NOW - 3 * DAY),
        ("skipped", "skip_date", NOW - 2 * DAY),
        ("missed", "misfire", NOW - DAY),
        ("queued", "", NOW),
    ]


def test_one_marked_occurrence_is_skipped_when_its_time_comes_and_the_next_runs(alice):
    schedule = due_schedule(alice, skip_next_at=NOW, overlap_policy="allow")
    assert fire() == 0
    assert ledger(schedule) == [("skipped", "skip_next", NOW)]
    assert fire(NOW + HOUR) == 1


def test_a_skip_date_is_the_local_date(alice):
    """06:00 on 2 June in Tokyo is still the 1st in UTC."""
    schedule = due_schedule(
        alice, cadence={"kind": "daily", "time": "06:00"}, zone="Asia/Tokyo", skip_dates=["2026-06-02"],
        at=NOW + 13 * HOUR,
    )  # fmt: skip
    fire(NOW + 13 * HOUR)
    assert ledger(schedule) == [("skipped", "skip_date", NOW + 13 * HOUR)]


def test_a_night_offline_floods_nobody(alice, make_agent):
    """B45: five schedules missed are five rows and at most one notice."""
    agent = make_agent()
    for minute in range(0, 25, 6):
        due_schedule(alice, agent=agent, cadence={"kind": "daily", "time": f"08:{minute:02}"}, at=NOW + minute * MINUTE)
    fire(NOW + 11 * HOUR)
    assert list(Run.objects.values_list("status", flat=True)) == ["missed"] * 5
    notice = Notice.objects.get(user=alice)
    assert (notice.code, notice.params["count"]) == ("runs_missed", 5)


def test_after_a_restart_in_the_evening_the_morning_does_not_run_again(alice):
    """C14, B44."""
    schedule = due_schedule(alice, cadence={"kind": "daily", "time": "08:00"})
    fire()
    assert fire(NOW + 30 * MINUTE) == 0
    assert len(ledger(schedule)) == 1


def test_a_shifted_occurrence_says_so(alice):
    """C2, B06: 02:30 on 8 March 2026 does not exist in New York; it runs at 07:00Z."""
    at = NOW.replace(month=3, day=8, hour=7)
    schedule = due_schedule(alice, cadence={"kind": "daily", "time": "02:30"}, zone="America/New_York", at=at)
    fire(at)
    assert [(run.scheduled_for, run.shifted) for run in Run.objects.all()] == [(at, True)]
    schedule.refresh_from_db()
    assert schedule.next_occurrence_at == at + DAY - 30 * MINUTE


def test_an_hour_that_comes_twice_is_three_runs_hourly_and_one_daily(alice):
    """C3, B05, B07: 1 November 2026."""
    at = NOW.replace(month=11, day=1, hour=8)
    hourly = due_schedule(alice, zone="America/Los_Angeles", at=at, overlap_policy="allow")
    daily = due_schedule(alice, cadence={"kind": "daily", "time": "01:00"}, zone="America/Los_Angeles", at=at)
    for hour in range(3):
        fire(at + hour * HOUR)
    assert [row[2] for row in ledger(hourly)] == [at, at + HOUR, at + 2 * HOUR]
    assert [row[2] for row in ledger(daily)] == [at]
