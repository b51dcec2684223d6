"""The global stop holds every turn that no person began, and nothing else (gate row 1; operator policy, global stop)."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.services.stops import global_stop_set
from chats.domain.origins import begun_by_person
from chats.models import Turn
from chats.selectors.health import drains_needed
from chats.services.turns_start import turns_start
from chats.services.turns_stop import turn_stop
from core.errors import Refusal
from schedules.models import Run, Schedule
from schedules.services.editing import schedule_delete
from schedules.services.reconcile import reconcile
from schedules.services.runs import run_now, run_stop
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

MACHINES = ("schedule", "timer", "inbox", "goal", "retry", "resume", "anything")
LANES = ("scheduled", "interactive")


@pytest.fixture(params=["switch", "environment"])
def stop(request: Any, settings: Any, olivia: Any) -> Any:
    """Switch the stop on and off, by its switch and by the environment."""

    def put(on: bool, now: Any = NOW) -> None:
        if request.param == "environment":
            settings.GLOBAL_STOP = on
        else:
            global_stop_set(on=on, reason="Maintenance", actor=olivia, now=now)

    return put


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("origin", MACHINES)
def test_what_a_machine_began_stays_queued_whatever_its_lane(alice, make_turn, stop, origin, lane):
    turn = make_turn(owner=alice, origin=origin, lane=lane)
    before = Turn.objects.values().get(pk=turn.pk)
    stop(True)
    assert not begun_by_person(origin)
    assert claim() == []
    assert Turn.objects.values().get(pk=turn.pk) == before
    assert not drains_needed(NOW + HOUR, older_than=10)
    stop(False, NOW + MINUTE)
    assert [leased.pk for leased in claim(NOW + MINUTE)] == [turn.pk]


def test_a_person_who_is_typing_is_answered_beside_what_waits(alice, bob, make_turn, stop):
    for _ in range(30):
        make_turn(owner=alice, origin="schedule", queued_at=NOW - HOUR)
    typed = make_turn(owner=bob, origin="person", lane="interactive")
    stop(True)
    assert [turn.pk for turn in claim()] == [typed.pk]


@pytest.mark.parametrize("origin", MACHINES)
def test_one_that_was_leased_as_the_stop_came_up_goes_back_and_uses_up_no_attempt(alice, make_turn, stop, origin):
    turn = make_turn(owner=alice, origin=origin)
    [leased] = claim()
    stop(True)
    assert turns_start(turns=[leased], now=NOW + SECOND) == []
    turn.refresh_from_db()
    assert (turn.status, turn.attempts_made, turn.error_code) == ("queued", 0, "")


def test_what_is_due_is_not_fired_and_nothing_is_lost(alice, stop):
    schedule = due_schedule(alice)
    stop(True)
    assert fire() == 0
    assert ledger(schedule) == []
    stop(False, NOW + SECOND)
    assert fire(NOW + SECOND) == 1


@pytest.mark.parametrize("kind", ["manual", "api", "trial"])
def test_a_run_that_somebody_asked_for_is_held_like_one_that_was_due(alice, stop, kind):
    run = queued_run(alice)
    Run.objects.filter(pk=run.pk).update(kind=kind)
    stop(True)
    assert begin() == []
    run.refresh_from_db()
    assert (run.status, run.settled_at) == ("queued", None)


def test_a_retry_is_held_and_made_once_the_stop_has_ended(alice, stop):
    run = queued_run(alice, misfire_grace_seconds=3600)
    [work] = begin()
    settle(failed(work))
    stop(True, NOW + SECOND)
    later = NOW + 10 * MINUTE
    assert claim(later) == []
    run.refresh_from_db()
    assert (run.status, run.turn.status, run.turn.attempts_made) == ("queued", "queued", 1)
    stop(False, later)
    assert [turn.pk for turn in claim(later)] == [run.turn_id]


def test_what_runs_ends_and_is_settled_under_the_stop(alice, stop):
    """Bookkeeping goes on: an answer that is being written is finished, stored and counted."""
    run = queued_run(alice)
    [work] = begin()
    stop(True)
    settle(ended(work))
    run.refresh_from_db()
    assert run.status == "succeeded"


def test_lost_leases_are_ended_under_the_stop(alice, stop):
    run = queued_run(alice)
    begin()
    stop(True)
    later = NOW + 5 * MINUTE
    reconcile(now=later)
    assert not Turn.objects.filter(pk=run.turn_id, status="running").exists()


def test_stopping_and_deleting_work_under_the_stop(alice, make_turn, stop):
    stopped, run, doomed = make_turn(owner=alice, origin="timer"), queued_run(alice), queued_run(alice)
    stop(True)
    assert turn_stop(turn_id=stopped.pk, reason="stopped_by_owner", now=NOW)
    assert run_stop(run=run, actor=alice, now=NOW)
    schedule_delete(schedule=doomed.schedule, now=NOW)
    run.refresh_from_db()
    assert run.status == "stopped"
    assert not Schedule.objects.filter(pk=doomed.schedule_id, deleting_at=None).exists()


def test_a_run_by_hand_is_refused_with_when_to_try_again(alice, stop):
    schedule = due_schedule(alice)
    stop(True)
    with pytest.raises(Refusal) as refused:
        run_now(schedule=schedule, actor=alice, now=NOW)
    assert (refused.value.code, refused.value.status) == ("stopped_by_operator", 503)
    assert refused.value.retry_after
