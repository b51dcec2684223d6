"""Pause, resume, delete and skip next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import IdempotencyKey
from core.errors import Refusal
from schedules import lifecycle
from schedules.models import Run, Schedule
from schedules.services.editing import (
    schedule_create,
    schedule_delete,
    schedule_pause,
    schedule_resume,
    schedule_skip_next,
)
from tests.schedules.conftest import columns

LATER = datetime(2026, 6, 1, 8, 30, tzinfo=UTC)
DUE = datetime(2026, 6, 1, 9, tzinfo=UTC)
AFTER_DUE = datetime(2026, 6, 1, 9, 5, tzinfo=UTC)


def block(schedule, reason, **params):
    lifecycle.block(schedule, reason=reason, params=params, now=LATER)
    return schedule


@pytest.fixture
def queued(make_run, make_turn, alice):
    """Make a run of a schedule that waits for its turn; arguments are columns of both."""

    def make(schedule, **started):
        Schedule.objects.filter(pk=schedule.pk).update(reached_count=1)
        turn = make_turn(owner=alice, origin="schedule", **started)
        return make_run(schedule=schedule, status="queued", turn=turn, **started)

    return make


@pytest.fixture
def running(make_run, make_turn, make_conversation, alice):
    """Make a run of a schedule that a worker has in hand."""

    def make(schedule):
        conversation = make_conversation(owner=alice)
        turn = make_turn(
            owner=alice,
            origin="schedule",
            status="running",
            conversation=conversation,
            started_at=LATER,
            fence=1,
            leased_by="worker",
            leased_at=LATER,
            lease_expires_at=LATER + timedelta(minutes=1),
        )
        return make_run(schedule=schedule, status="running", turn=turn, started_at=LATER, conversation=conversation)

    return make


def test_a_pause_disarms_cancels_what_waits_and_gives_what_was_due_its_row(created, queued):
    """C12."""
    schedule = created()
    waiting = queued(schedule)
    schedule_pause(schedule=schedule, now=AFTER_DUE)
    stored = columns(schedule)
    assert (stored["enabled"], stored["paused_at"], stored["next_run_at"]) == (False, AFTER_DUE, None)
    waiting.refresh_from_db()
    assert (waiting.status, waiting.reason) == ("cancelled", "paused")
    assert Run.objects.exclude(pk=waiting.pk).get().scheduled_for == DUE


def test_a_second_pause_changes_nothing(created):
    schedule = created()
    schedule_pause(schedule=schedule, now=LATER)
    before = columns(schedule)
    schedule_pause(schedule=schedule, now=AFTER_DUE)
    assert columns(schedule) == before


def test_a_pause_lets_a_running_turn_finish(created, running):
    schedule = created()
    run = running(schedule)
    schedule_pause(schedule=schedule, now=LATER)
    run.refresh_from_db()
    assert run.status == "running"


def test_pause_and_delete_need_no_permission_and_no_policy(created, alice, limit, policy):
    """R19."""
    schedule = created()
    alice.groups.clear()
    limit(alice, enabled=False)
    policy(alice, require_project=True)
    assert not schedule_pause(schedule=schedule, now=LATER).enabled
    assert schedule_delete(schedule=schedule, now=LATER)


def test_a_resume_starts_from_now_and_makes_nothing_up(created):
    """B56, B57, C12."""
    schedule = created(cadence={"kind": "hourly", "minute": 0})
    schedule_pause(schedule=schedule, now=datetime(2026, 6, 1, 8, 55, tzinfo=UTC))
    resumed = schedule_resume(schedule=schedule, now=datetime(2026, 6, 3, 1, 55, tzinfo=UTC))
    assert resumed.next_run_at == datetime(2026, 6, 3, 2, tzinfo=UTC)
    assert not Run.objects.exists()


def test_a_resume_lifts_a_block_and_clears_both_streaks(created):
    """R14."""
    schedule = created()
    Schedule.objects.filter(pk=schedule.pk).update(failure_streak=5, balance_skip_streak=2)
    block(schedule, "too_many_failures", count=5, last="x")
    resumed = schedule_resume(schedule=schedule, now=LATER)
    assert resumed.is_on and resumed.next_run_at == DUE
    stored = columns(schedule)
    assert (stored["failure_streak"], stored["balance_skip_streak"], stored["blocked_reason"]) == (0, 0, "")


def test_a_resume_of_one_that_is_on_changes_nothing(created):
    schedule = created()
    before = columns(schedule)
    schedule_resume(schedule=schedule, now=LATER)
    assert columns(schedule) == before


def refused_resume(schedule, now=LATER):
    before = columns(schedule)
    with pytest.raises(Refusal) as caught:
        schedule_resume(schedule=schedule, now=now)
    assert columns(schedule) == before
    return caught.value


def test_a_resume_asks_the_gate(created, agent):
    schedule = block(created(), "agent_disabled", agent="Writer")
    agent.enabled = False
    agent.save()
    refusal = refused_resume(schedule)
    assert (refusal.code, refusal.status) == ("agent_disabled", 409)
    assert [error.path for error in refusal.fields] == ["agent"]


def test_a_resume_needs_the_permission(created, alice):
    schedule = created(enabled=False)
    alice.groups.clear()
    assert refused_resume(schedule).code == "permission_denied"


def test_an_operators_block_is_lifted_by_no_resume(created):
    assert refused_resume(block(created(), "by_operator")).code == "by_operator"


def test_a_resume_with_nothing_left_to_run_says_so(created):
    schedule = created(cadence={"kind": "once", "at": "2026-06-01T09:00"}, enabled=False)
    assert refused_resume(schedule, AFTER_DUE).code == "cadence_never_fires"


def test_a_completed_one_that_has_more_to_run_counts_again_when_it_is_resumed(created, alice, limit):
    schedule = created()
    lifecycle.complete(schedule, now=LATER)
    created()
    limit(alice, max_schedules=1)
    assert refused_resume(schedule).code == "schedule_limit"
    limit(alice, max_schedules=2)
    assert schedule_resume(schedule=schedule, now=LATER).next_run_at == DUE


def test_a_deleted_schedule_is_gone_with_its_ledger(created, make_run):
    schedule = created()
    make_run(schedule=schedule)
    assert schedule_delete(schedule=schedule, now=LATER)
    assert not Schedule.objects.exists() and not Run.objects.exists()


def test_a_schedule_of_a_deleted_agent_can_be_deleted(created, agent):
    """B77."""
    schedule = created()
    agent.deleted_at = LATER
    agent.save()
    assert schedule_delete(schedule=schedule, now=LATER)


def test_deleting_cancels_what_waits_and_then_nothing_holds_it(created, queued):
    """B52."""
    schedule = created()
    run = queued(schedule)
    assert schedule_delete(schedule=schedule, now=LATER)
    run.turn.refresh_from_db()
    assert run.turn.status == "cancelled"


def test_deleting_while_a_worker_has_its_run_hides_it_at_once_and_asks_the_run_to_stop(created, running):
    schedule = created()
    run = running(schedule)
    assert not schedule_delete(schedule=schedule, now=LATER)
    stored = columns(schedule)
    assert (stored["deleting_at"], stored["next_run_at"]) == (LATER, None)
    run.turn.refresh_from_db()
    assert run.turn.stop_requested_at == LATER
    with pytest.raises(Refusal, match="nothing here"):
        schedule_pause(schedule=schedule, now=LATER)


def test_while_it_is_being_deleted_its_create_key_answers_gone(alice, body, now, running):
    schedule, _ = schedule_create(owner=alice, body=body, now=now, key="k1")
    running(schedule)
    assert not schedule_delete(schedule=schedule, now=LATER)
    with pytest.raises(Refusal) as caught:
        schedule_create(owner=alice, body=body, now=LATER, key="k1")
    assert caught.value.code == "gone"


def test_the_key_of_an_erased_schedule_is_dated_so_that_it_can_be_forgotten(alice, body, now):
    schedule, _ = schedule_create(owner=alice, body=body, now=now, key="k1")
    schedule_delete(schedule=schedule, now=LATER)
    assert IdempotencyKey.objects.get().gone_at == LATER


def test_skipping_the_next_shows_the_one_after_and_keeps_the_clock_where_it_was(created):
    schedule = created()
    schedule_skip_next(schedule=schedule, scheduled_for=DUE, now=LATER)
    stored = columns(schedule)
    assert stored["skip_next_at"] == stored["next_run_at"] == DUE
    assert stored["next_occurrence_at"] == DUE + timedelta(days=1)
    assert stored["revision"] == 1


def test_skipping_the_same_one_twice_is_no_change(created):
    schedule = created()
    schedule_skip_next(schedule=schedule, scheduled_for=DUE, now=LATER)
    before = columns(schedule)
    schedule_skip_next(schedule=schedule, scheduled_for=DUE, now=LATER)
    assert columns(schedule) == before


@pytest.mark.parametrize("days", [-1, 1])
def test_only_the_next_one_can_be_skipped(created, days):
    with pytest.raises(Refusal) as caught:
        schedule_skip_next(schedule=created(), scheduled_for=DUE + timedelta(days=days), now=LATER)
    assert caught.value.code == "schedule_changed"


def test_a_second_one_cannot_be_skipped_while_the_first_is_still_to_come(created):
    schedule = created()
    schedule_skip_next(schedule=schedule, scheduled_for=DUE, now=LATER)
    with pytest.raises(Refusal, match="changed meanwhile"):
        schedule_skip_next(schedule=schedule, scheduled_for=DUE + timedelta(days=1), now=LATER)


def test_nothing_is_skipped_on_a_paused_schedule(created):
    with pytest.raises(Refusal, match="changed meanwhile"):
        schedule_skip_next(schedule=created(enabled=False), scheduled_for=DUE, now=LATER)
