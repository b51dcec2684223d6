"""From due to opened: one row per occurrence, in one transaction, whatever else is broken."""

import pytest

from accounts.models import Notice
from chats.models import Turn
from schedules.models import Run, Schedule
from schedules.services import firing
from schedules.services.firing import fire_due
from tests.support.engine import DAY, HOUR, MINUTE, NOW, SECOND, at_once, due_schedule, fire, ledger

pytestmark = pytest.mark.django_db


def test_a_due_occurrence_becomes_a_queued_run_with_its_snapshot_and_its_turn(alice, make_project):
    project = make_project(owner=alice)
    schedule = due_schedule(alice, project=project, name="News", prompt="What is new?", deadline_seconds=120)
    assert fire() == 1
    run = Run.objects.get()
    assert (run.status, run.kind, run.scheduled_for, run.due_at) == ("queued", "scheduled", NOW, NOW)
    assert (run.name, run.prompt, run.agent_id) == ("News", "What is new?", schedule.agent_id)
    assert (run.project_id, run.project_recorded, run.late, run.shifted) == (project.pk, True, False, False)
    assert run.idempotency_key == f"sched:{schedule.public_id}:{NOW.isoformat()}"
    assert (run.turn.status, run.turn.deadline_seconds, run.turn.conversation_id) == ("queued", 120, None)
    schedule.refresh_from_db()
    assert schedule.planned_through == NOW
    assert (schedule.next_run_at, schedule.next_occurrence_at) == (NOW + HOUR, NOW + HOUR)


def test_a_second_look_finds_nothing(alice):
    """R1, C14: also after a restart, since what was fired rests in the rows."""
    schedule = due_schedule(alice)
    assert (fire(), fire(), fire(NOW + MINUTE)) == (1, 0, 0)
    assert Run.objects.filter(schedule=schedule).count() == 1


def test_nothing_fires_before_its_instant(alice):
    due_schedule(alice)
    assert fire(NOW - SECOND) == 0
    assert not Run.objects.exists()


def test_an_occurrence_that_has_its_row_is_never_opened_again_and_the_schedule_goes_on(alice):
    """R1, C14, C15: a mark that stands too early (a clock put back, a restored backup) makes no second row."""
    schedule = due_schedule(alice)
    fire()
    Schedule.objects.filter(pk=schedule.pk).update(planned_through=NOW - HOUR, next_run_at=NOW)
    assert fire(NOW + MINUTE) == 0
    assert ledger(schedule) == [("queued", "", NOW)]
    schedule.refresh_from_db()
    assert (schedule.next_run_at, schedule.look_failures, schedule.blocked_reason) == (NOW + HOUR, 0, "")


def test_a_mark_before_a_missed_window_makes_no_second_one(alice):
    """R1, R5."""
    schedule = due_schedule(alice, planned_through=NOW - 10 * HOUR, next_run_at=NOW - 9 * HOUR)
    fire(NOW + 20 * MINUTE)
    assert [row[0] for row in ledger(schedule)] == ["missed"]
    Schedule.objects.filter(pk=schedule.pk).update(planned_through=NOW - 10 * HOUR, next_run_at=NOW - 9 * HOUR)
    fire(NOW + 21 * MINUTE)
    assert Run.objects.filter(schedule=schedule).count() == 1
    schedule.refresh_from_db()
    assert schedule.next_run_at == NOW + HOUR


def test_every_occurrence_that_passed_is_covered_by_exactly_one_row(alice):
    """R5: over ticks that come early, late and not for hours, with skips among them."""
    schedule = due_schedule(
        alice, overlap_policy="allow", misfire_policy="run_once", skip_dates=["2026-06-02"], next_run_at=NOW,
    )  # fmt: skip
    for minutes in (0, 1, 59, 61, 200, 201, 1000, 1500, 1501, 2900, 2950):
        fire(NOW + minutes * MINUTE)
    covered = []
    for run in Run.objects.filter(schedule=schedule).order_by("scheduled_for"):
        count = run.missed_count or 1
        last = run.missed_until or run.scheduled_for
        assert last == run.scheduled_for + (count - 1) * HOUR
        covered += [run.scheduled_for + n * HOUR for n in range(count)]
    assert covered == [NOW + n * HOUR for n in range(2950 // 60 + 1)]


@pytest.mark.parametrize(
    ("fields", "ended"),
    [
        ({}, False),
        ({"until": NOW}, True),
        ({"until": NOW + HOUR}, False),
        ({"max_runs": 1}, True),
        ({"max_runs": 2}, False),
        ({"cadence": {"kind": "once", "at": "2026-06-01T08:00"}}, True),
        ({"skip_dates": ["2026-06-01"]}, False),
    ],
)
def test_after_a_fire_a_schedule_is_armed_or_completed(alice, fields, ended):
    """R6; B33, B75: nothing is on without a next look, and nothing completed has one."""
    schedule = due_schedule(alice, **fields)
    fire()
    schedule.refresh_from_db()
    assert (schedule.completed_at is not None) is ended
    assert (schedule.next_run_at is None) is ended
    assert schedule.is_on is not ended


def test_a_refusal_leaves_a_row_with_its_reason_and_no_turn(alice, make_agent, bob):
    """R16: before anything is billed; the schedule is blocked and its owner is told once (R15)."""
    schedule = due_schedule(alice, agent=make_agent(owner=bob, name="Bob's"))
    assert fire() == 0
    run = Run.objects.get()
    assert (run.status, run.reason, run.reason_params) == ("refused", "agent_forbidden", {"agent": "Bob's"})
    assert (run.turn, run.settled_at, run.started_at) == (None, NOW, None)
    assert not Turn.objects.exists()
    schedule.refresh_from_db()
    assert (schedule.blocked_reason, schedule.blocked_params) == ("agent_forbidden", {"agent": "Bob's"})
    assert (schedule.next_run_at, schedule.last_run_id, schedule.planned_through) == (None, run.pk, NOW)
    assert fire(NOW + DAY) == 0
    assert Notice.objects.filter(user=alice, code="schedule_blocked").count() == 1


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """R1, B48, B49: many clocks at the same second."""

    def test_two_clocks_open_one_row_per_occurrence(self, alice, make_agent):
        agent = make_agent()
        for _ in range(60):
            due_schedule(alice, agent=agent)
        queued = at_once([lambda: sum(fire_due(now=NOW, most=7).queued for _ in range(12))] * 3)
        assert sum(queued) == 60
        assert Run.objects.count() == Turn.objects.count() == 60
        assert Schedule.objects.filter(next_run_at=NOW + HOUR).count() == 60

    def test_a_clock_that_reads_an_old_row_loses_to_the_index(self, alice, monkeypatch):
        """R1: also without any lock, the database refuses the second row."""
        schedule = due_schedule(alice)
        stale = list(Schedule.objects.select_related("agent"))
        fire()
        monkeypatch.setattr(firing, "_claim", lambda now, most: stale)
        fire_due(now=NOW)
        assert Run.objects.count() == Turn.objects.count() == 1
        assert Schedule.objects.get(pk=schedule.pk).next_run_at == NOW + HOUR
