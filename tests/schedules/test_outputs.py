"""Schedules and runs as the wire shows them, and the bulk reads behind lists."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from chats.models import TurnAttempt
from schedules import lifecycle
from schedules.api import schema
from schedules.models import Run, Schedule
from schedules.outputs import attempt_out, run_out, schedule_out
from schedules.selectors.lists import (
    STATES,
    in_state,
    recent_outcomes,
    runs_of,
    schedule_row,
    schedule_rows,
    schedules_of,
)

DUE = datetime(2026, 6, 1, 9, tzinfo=UTC)

SCHEDULE_FIELDS = set(
    re.findall(
        r"\w+",
        """
    id revision created_at updated_at name prompt agent project project_source cadence zone until max_runs skip_dates
    enabled target overlap_policy misfire_policy misfire_grace_seconds approval_ttl_seconds hold_on_approval
    deadline_seconds retry_window_seconds goal monthly_budget retention notify state blocked_reason blocked_text
    completed_at next_run_at pending_approvals description last_run succeeded_count failure_streak balance_skip_streak
""",
    )
)
RUN_FIELDS = set(
    re.findall(
        r"\w+",
        """
    id schedule kind scheduled_for missed_until missed_count status reason reason_text delay_seconds opened_at
    started_at settled_at duration_seconds attempts project conversation prompt input_tokens output_tokens cost error
    agent goal revision due_at late shifted again_of notified
""",
    )
)


def out(schedule):
    return schedule_out(schedule_row(schedule))


def run_shown(run):
    return run_out(runs_of(run.owner).get(pk=run.pk))


def test_a_schedule_has_exactly_the_fields_of_the_wire_and_of_the_openapi_document(created):
    shown = out(created())
    assert set(shown) == SCHEDULE_FIELDS == set(schema.ScheduleShown().fields)


def test_a_run_has_exactly_the_fields_of_the_wire_and_of_the_openapi_document(created, make_run):
    shown = run_shown(make_run(schedule=created()))
    assert set(shown) == RUN_FIELDS == set(schema.RunShown().fields)


def test_a_new_schedule_is_shown_with_its_choices_and_its_next_run(created, agent, make_project, alice):
    project = make_project(owner=alice, name="Briefings")
    shown = out(created(project=project.public_id, until="2026-12-31T00:00:00Z"))
    assert shown["agent"] == {"id": agent.public_id, "name": "Writer", "state": "ready"}
    assert (shown["project"], shown["project_source"]) == ({"id": project.public_id, "name": "Briefings"}, "stored")
    assert (shown["monthly_budget"], shown["until"]) == (None, "2026-12-31T00:00:00Z")
    assert (shown["state"], shown["next_run_at"]) == ("armed", "2026-06-01T09:00:00Z")
    assert (shown["retention"], shown["notify"]) == ({"keep": "all"}, {"on": "failures", "channels": []})
    assert shown["description"] == "Every day at 09:00, UTC"
    assert shown["last_run"] is None and shown["goal"] is None and shown["target"] == "new"


def test_the_description_is_in_the_owners_words(created, alice):
    alice.clock = "12"
    alice.save()
    assert "9:00" in out(created())["description"] and "09:00" not in out(created())["description"]


def test_a_rule_that_cannot_be_read_is_shown_without_words(created):
    """C7: one bad row never breaks a list."""
    schedule = created()
    for change in ({"zone": "Nowhere/Zone"}, {"cadence": {"kind": "weekly"}}):
        Schedule.objects.filter(pk=schedule.pk).update(**change)
        assert out(schedule)["description"] == ""


def test_a_blocked_schedule_says_why_and_has_no_next_run(created, now):
    schedule = created()
    lifecycle.block(schedule, reason="too_many_failures", params={"count": 5, "last": "No end."}, now=now)
    shown = out(schedule)
    assert (shown["state"], shown["blocked_reason"], shown["next_run_at"]) == ("blocked", "too_many_failures", None)
    assert shown["blocked_text"] == "It failed 5 times in a row, last with: No end."


def test_the_effective_project_is_shown_with_its_source(created, alice, bob, make_project, policy):
    """P14."""
    stored, pinned = make_project(owner=alice, name="Stored"), make_project(owner=alice, name="Pinned")
    schedule = created(project=stored.public_id)
    policy(alice, pinned_project=pinned)
    assert (out(schedule)["project"]["name"], out(schedule)["project_source"]) == ("Pinned", "pin")
    policy(alice, pinned_project=make_project(owner=bob, name="Bobs"))
    assert (out(schedule)["project"], out(schedule)["project_source"]) == (None, "pin")


def test_the_name_of_somebody_elses_project_is_never_shown(created, bob, make_project):
    """P15: whatever the column holds."""
    schedule = created()
    Schedule.objects.filter(pk=schedule.pk).update(project=make_project(owner=bob, name="Secret"))
    assert out(schedule)["project"] is None


# State


@pytest.fixture
def with_run(make_run, make_turn, make_conversation, alice):
    """Add an unsettled run to a schedule."""

    def add(schedule, status):
        make_run(schedule=schedule, status=status, kind="manual", started_at=None if status == "queued" else DUE)

    return add


def test_the_first_state_that_holds_is_shown_and_the_filter_agrees(created, with_run, now, alice):
    """Each next schedule lacks the strongest reason of the one before."""
    reasons = {
        "deleting": lambda s: lifecycle.mark_deleting(s, now=now),
        "blocked": lambda s: lifecycle.block(s, reason="by_operator", params={}, now=now),
        "needs_approval": lambda s: with_run(s, "needs_approval"),
        "running": lambda s: with_run(s, "running"),
        "queued": lambda s: with_run(s, "queued"),
        "paused": lambda s: lifecycle.pause(s, now=now),
        "completed": lambda s: lifecycle.complete(s, now=now),
    }
    names = list(reasons)
    for position, expected in enumerate([*names, "armed"]):
        schedule = created()
        for name in reversed(names[position:]):
            reasons[name](schedule)
        assert schedule_row(schedule).state == expected
        assert list(in_state(Schedule.objects.filter(pk=schedule.pk), expected)) == [schedule]
        others = [state for state in STATES if state != expected]
        assert not any(in_state(Schedule.objects.filter(pk=schedule.pk), state).exists() for state in others)


def test_waiting_approvals_are_counted(created, with_run):
    schedule = created()
    with_run(schedule, "needs_approval")
    with_run(schedule, "needs_approval")
    assert out(schedule)["pending_approvals"] == 2


# Runs


def test_the_delay_counts_from_the_nominal_instant_in_whole_seconds(created, make_run):
    schedule = created()
    run = make_run(schedule=schedule, scheduled_for=DUE, started_at=DUE + timedelta(seconds=42, milliseconds=900))
    lifecycle.show_last([run])
    assert run_shown(run)["delay_seconds"] == 42
    assert out(schedule)["last_run"] == {
        "id": run.public_id,
        "status": "succeeded",
        "reason": None,
        "scheduled_for": "2026-06-01T09:00:00Z",
        "delay_seconds": 42,
        "conversation": None,
    }
    assert run_shown(make_run(schedule=schedule, status="queued", kind="manual"))["delay_seconds"] is None


def test_a_failed_run_carries_its_error_with_the_attempt(created, make_run):
    run = make_run(schedule=created(), status="failed", reason="provider_timeout", attempts=3, error_text="no answer")
    shown = run_shown(run)
    assert shown["error"] == {"code": "provider_timeout", "text": "no answer", "attempt": 3}
    assert shown["reason_text"] == "The provider did not answer in time."


def test_what_is_no_error_has_none(created, make_run):
    for status in ("succeeded", "empty", "skipped", "refused", "missed", "cancelled", "stopped", "expired"):
        run = make_run(schedule=created(), status=status, reason="overlap", kind="manual")
        assert run_shown(run)["error"] is None


def test_amounts_and_durations_are_plain(created, make_run):
    run = make_run(schedule=created(), cost=Decimal("0.012300"), duration_seconds=9.6, input_tokens=5)
    shown = run_shown(run)
    assert (shown["cost"], shown["duration_seconds"], shown["input_tokens"]) == ("0.0123", 10, 5)


def test_a_link_to_a_deleted_conversation_is_not_given(created, make_run, make_conversation, alice, now):
    kept, gone = make_conversation(owner=alice), make_conversation(owner=alice, deleted_at=now)
    schedule = created()
    assert run_shown(make_run(schedule=schedule, kind="manual", conversation=kept))["conversation"] == kept.public_id
    assert run_shown(make_run(schedule=schedule, kind="manual", conversation=gone))["conversation"] is None


def test_a_trial_has_no_schedule(alice, make_run, agent):
    assert run_shown(make_run(owner=alice, agent=agent))["schedule"] is None


def test_an_attempt_has_exactly_the_fields_of_the_wire(alice, make_turn, now):
    turn = make_turn(owner=alice)
    attempt = TurnAttempt(turn=turn, number=1, fence=1, started_at=now, error_code="provider_timeout", retryable=True)
    assert attempt_out(attempt) == {
        "number": 1,
        "started_at": "2026-06-01T08:00:00Z",
        "ended_at": None,
        "outcome": None,
        "code": "provider_timeout",
        "certainty": None,
        "retryable": True,
    }


# Bulk


@pytest.fixture
def crowd(alice, agent, make_project, make_schedule):
    """Fifty schedules in several projects with some ledger behind each."""
    projects = [make_project(owner=alice) for _ in range(5)]
    schedules = [make_schedule(owner=alice, agent=agent, project=projects[n % 5]) for n in range(50)]
    Run.objects.bulk_create(
        Run(
            schedule=schedule,
            owner=alice,
            agent=agent,
            kind="scheduled",
            status="failed" if n % 4 == 0 else "succeeded",
            scheduled_for=DUE + timedelta(hours=n),
            due_at=DUE,
            opened_at=DUE,
            settled_at=DUE,
            prompt="x",
            idempotency_key=f"{schedule.pk}:{n}",
        )
        for schedule in schedules
        for n in range(30)
    )
    for schedule in schedules:
        lifecycle.show_last([Run.objects.filter(schedule=schedule).latest("scheduled_for")])
    return schedules


def test_fifty_schedules_take_as_many_queries_as_one(alice, crowd, policy, make_project, django_assert_max_num_queries):
    policy(alice, pinned_project=make_project(owner=alice, name="Pinned"))
    with django_assert_max_num_queries(8):
        rows = schedule_rows(schedules_of(alice))
        shown = [schedule_out(row) for row in rows]
        outcomes = recent_outcomes([row.schedule.pk for row in rows])
    assert len(shown) == 50 and len(outcomes) == 50


def test_the_strip_holds_the_newest_outcomes_oldest_first(crowd):
    outcomes = recent_outcomes([crowd[0].pk, crowd[7].pk])
    assert set(outcomes) == {crowd[0].pk, crowd[7].pk}
    assert [outcome.scheduled_for for outcome in outcomes[crowd[7].pk]] == [
        DUE + timedelta(hours=hour) for hour in range(20, 30)
    ]
    assert [outcome.status for outcome in outcomes[crowd[7].pk]][:5] == [
        "failed", "succeeded", "succeeded", "succeeded", "failed",
    ]  # fmt: skip


def test_the_strip_of_more_schedules_than_one_statement_takes_is_whole(alice, agent, make_schedule, make_run):
    schedules = [make_schedule(owner=alice, agent=agent) for _ in range(101)]
    make_run(schedule=schedules[0])
    make_run(schedule=schedules[100])
    assert set(recent_outcomes([schedule.pk for schedule in schedules])) == {schedules[0].pk, schedules[100].pk}


def test_nobody_elses_and_nothing_deleted_is_listed(alice, bob, agent, make_schedule, make_run, now):
    """P15."""
    mine = make_schedule(owner=alice, agent=agent)
    hidden = make_schedule(owner=alice, agent=agent, deleting_at=now)
    theirs = make_schedule(owner=bob, agent=agent)
    runs = [make_run(schedule=schedule) for schedule in (mine, hidden, theirs)]
    assert list(schedules_of(alice)) == [mine]
    assert list(runs_of(alice)) == [runs[0]]
