"""Edits and the state of a schedule: the switch, blocks, completion, and runs that never started."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Permission

from schedules import lifecycle
from schedules.models import Run, Schedule
from tests.schedules.conftest import columns
from tests.schedules.edits import AFTER_DUE, LATER, edit, fields_of, refused


def block(schedule, reason, now=LATER, **params):
    lifecycle.block(schedule, reason=reason, params=params, now=now)
    return schedule


def test_switching_off_cancels_what_never_started_and_disarms(created, make_run, make_turn, alice):
    schedule = created()
    Schedule.objects.filter(pk=schedule.pk).update(reached_count=1)
    waiting = make_run(schedule=schedule, status="queued", turn=make_turn(owner=alice, origin="schedule"))
    edit(schedule, enabled=False)
    stored = columns(schedule)
    assert (stored["enabled"], stored["next_run_at"], stored["revision"]) == (False, None, 2)
    assert stored["paused_at"] == LATER
    waiting.refresh_from_db()
    assert (waiting.status, waiting.reason) == ("cancelled", "paused")


def test_switching_on_arms_from_now_and_clears_both_streaks(created):
    """R14, C12."""
    schedule = created(enabled=False)
    Schedule.objects.filter(pk=schedule.pk).update(failure_streak=4, balance_skip_streak=3)
    edited = edit(schedule, datetime(2026, 6, 3, 10, tzinfo=UTC), enabled=True)
    assert edited.next_run_at == datetime(2026, 6, 4, 9, tzinfo=UTC)
    assert (edited.failure_streak, edited.balance_skip_streak) == (0, 0)
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"cadence": {"kind": "once", "at": "2026-06-01T09:00"}}, "cadence.at"),
        ({"until": "2026-06-01T09:00:00Z"}, "until"),
        ({"max_runs": 3}, "max_runs"),
    ],
)
def test_switching_on_with_nothing_left_is_refused_at_what_ended_it(created, fields, path):
    schedule = created(**fields, enabled=False)
    Schedule.objects.filter(pk=schedule.pk).update(reached_count=3)
    assert fields_of(refused(schedule, AFTER_DUE, enabled=True)) == [(path, "cadence_never_fires")]


def test_without_the_permission_only_switching_off_is_left(created, alice):
    """R19."""
    schedule = created()
    alice.groups.clear()
    assert refused(schedule, name="Evening").code == "permission_denied"
    assert refused(schedule, enabled=False, name="Evening").code == "permission_denied"
    assert not edit(schedule, enabled=False).enabled
    assert refused(schedule, enabled=True).code == "permission_denied"


def test_an_edit_that_leaves_it_on_asks_the_gate(created, agent):
    """R18: the refusal stands at the field that mends it."""
    schedule = created()
    agent.enabled = False
    agent.save()
    assert fields_of(refused(schedule, name="Evening")) == [("agent", "agent_disabled")]
    assert not edit(schedule, enabled=False).enabled


def test_a_raised_floor_refuses_an_edit_that_leaves_it_on_and_no_other(created, alice, limit):
    schedule = created()
    limit(alice, min_interval_seconds=2 * 86_400)
    assert fields_of(refused(schedule, name="Evening")) == [("cadence", "cadence_below_floor")]
    assert fields_of(refused(schedule, cadence={"kind": "daily", "time": "10:00"})) == [
        ("cadence.every", "cadence_below_floor")
    ]
    assert edit(schedule, enabled=False, cadence={"kind": "daily", "time": "10:00"}).min_gap_seconds == 86_400


# Blocked


def test_a_well_formed_edit_of_a_blocked_schedule_is_accepted_and_it_stays_blocked(created, agent):
    schedule = created()
    agent.deleted_at = LATER
    agent.save()
    block(schedule, "agent_deleted")
    edited = edit(schedule, name="Evening")
    assert (edited.name, edited.blocked_reason, edited.next_run_at) == ("Evening", "agent_deleted", None)


def test_a_new_agent_lifts_the_block_of_a_deleted_one(created, agent, make_agent):
    """B76."""
    schedule = created()
    agent.deleted_at = LATER
    agent.save()
    block(schedule, "agent_deleted")
    edited = edit(schedule, AFTER_DUE, agent=make_agent().public_id)
    assert edited.is_on and edited.next_run_at == datetime(2026, 6, 2, 9, tzinfo=UTC)


def test_an_edit_that_mends_one_reason_and_meets_another_stays_blocked_by_the_other(created, agent, policy, alice):
    schedule = created()
    agent.enabled = False
    agent.save()
    policy(alice, require_project=True)
    block(schedule, "project_required")
    edited = edit(schedule, name="Evening")
    assert (edited.blocked_reason, edited.next_run_at) == ("agent_disabled", None)
    assert [notice.code for notice in alice.notices.all()] == ["schedule_blocked"]


@pytest.mark.parametrize("reason", ["too_many_failures", "insufficient_balance", "goal_held"])
def test_some_blocks_leave_by_resume_or_an_explicit_switch_only(created, reason):
    schedule = block(created(), reason, count=5, last="x")
    assert edit(schedule, name="Evening").blocked_reason == reason
    edited = edit(Schedule.objects.get(pk=schedule.pk), enabled=True)
    assert edited.is_on and edited.next_run_at is not None


def test_an_operators_block_is_lifted_by_no_edit(created):
    schedule = block(created(), "by_operator")
    assert refused(schedule, enabled=True).code == "by_operator"
    assert edit(schedule, name="Evening").blocked_reason == "by_operator"
    assert not edit(Schedule.objects.get(pk=schedule.pk), enabled=False).enabled


def test_a_block_by_an_unknown_zone_is_lifted_by_a_known_one(created):
    """C7."""
    schedule = created()
    Schedule.objects.filter(pk=schedule.pk).update(zone="Nowhere/Zone")
    schedule.refresh_from_db()
    block(schedule, "zone_unknown", zone="Nowhere/Zone")
    assert edit(schedule, name="Evening").blocked_reason == "zone_unknown"
    edited = edit(Schedule.objects.get(pk=schedule.pk), zone="Europe/Berlin")
    assert edited.is_on and edited.next_run_at == datetime(2026, 6, 2, 7, tzinfo=UTC)


def test_a_paused_and_blocked_one_is_unblocked_without_being_switched_on(created):
    schedule = block(created(enabled=False), "model_unavailable")
    edited = edit(schedule, name="Evening")
    assert (edited.blocked_reason, edited.enabled, edited.next_run_at) == ("", False, None)


# Completed


def complete(schedule):
    lifecycle.complete(schedule, now=AFTER_DUE)
    return schedule


def test_a_completed_schedule_is_extended_by_its_rule_and_not_by_its_name(created):
    schedule = complete(created(cadence={"kind": "once", "at": "2026-06-01T09:00"}))
    assert edit(schedule, AFTER_DUE, name="Evening").completed_at is not None
    edited = edit(Schedule.objects.get(pk=schedule.pk), AFTER_DUE, cadence={"kind": "once", "at": "2026-06-01T12:00"})
    assert edited.completed_at is None
    assert edited.next_run_at == datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_more_runs_extend_a_schedule_that_ended_by_its_count(created):
    """B33: an edit of the name does not."""
    schedule = created(max_runs=3)
    Schedule.objects.filter(pk=schedule.pk).update(reached_count=3)
    complete(schedule)
    assert edit(schedule, AFTER_DUE, name="Evening").completed_at is not None
    assert edit(Schedule.objects.get(pk=schedule.pk), AFTER_DUE, max_runs=3).revision == 2
    edited = edit(Schedule.objects.get(pk=schedule.pk), AFTER_DUE, max_runs=4)
    assert edited.is_on and edited.next_run_at is not None


def test_extending_a_completed_schedule_asks_the_cap_again(created, alice, limit):
    schedule = complete(created(cadence={"kind": "once", "at": "2026-06-01T09:00"}))
    created()
    limit(alice, max_schedules=1)
    refusal = refused(schedule, AFTER_DUE, cadence={"kind": "once", "at": "2026-06-01T12:00"})
    assert refusal.code == "schedule_limit"


def test_an_end_in_the_past_completes_it(created):
    edited = edit(created(), until="2026-06-01T08:00:00Z")
    assert edited.completed_at == LATER
    assert edited.next_run_at is None


# Runs that never started


def test_a_run_that_never_started_runs_with_the_new_text(created, make_run, make_turn, alice, make_agent, make_project):
    """B51: one run, the new text, the new revision; one that started keeps its own."""
    schedule = created()
    waiting = make_run(schedule=schedule, status="queued", turn=make_turn(owner=alice, origin="schedule"))
    started = make_run(
        schedule=schedule,
        status="queued",
        kind="manual",
        started_at=LATER,
        turn=make_turn(owner=alice, origin="schedule", started_at=LATER),
    )
    other, project = make_agent(), make_project(owner=alice)
    edit(schedule, prompt="New text", agent=other.public_id, project=project.public_id, deadline_seconds=120)
    waiting.refresh_from_db()
    started.refresh_from_db()
    assert (waiting.prompt, waiting.agent, waiting.project, waiting.revision) == ("New text", other, project, 2)
    assert waiting.turn.deadline_seconds == 120 and waiting.turn.agent == other
    assert (started.prompt, started.revision) == ("Say good morning.", 1)


def test_editing_back_and_forth_opens_nothing(created):
    schedule = created()
    for time in ("10:00", "09:00", "10:00", "09:00"):
        schedule = edit(schedule, cadence={"kind": "daily", "time": time})
    assert schedule.revision == 5
    assert schedule.next_run_at == datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert not Run.objects.exists()


def test_who_may_no_longer_use_schedules_cannot_leave_one_on(created, alice):
    schedule = created()
    alice.groups.clear()
    alice.user_permissions.add(Permission.objects.get(codename="create_schedules"))
    assert refused(schedule, name="Evening").code == "permission_revoked"
