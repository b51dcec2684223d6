"""Runs that a person or client starts or stops (R7; runs.md, Stop and run now)."""

import pytest

from accounts.models import GlobalStop, User
from accounts.services.stops import global_stop_set
from chats.models import Turn
from core.errors import Refusal
from schedules.models import Run, Schedule
from schedules.services import gating
from schedules.services import runs as module
from schedules.services.runs import run_now, run_stop
from tests.support.engine import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    at_once,
    begin,
    due_schedule,
    ended,
    failed,
    fire,
    ledger,
    row,
    settle,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def hints(monkeypatch):
    sent = []
    monkeypatch.setattr(module, "hint_drain", lambda: sent.append(1))
    return sent


@pytest.fixture
def schedule(alice):
    return due_schedule(alice, at=NOW + HOUR)


def press(schedule, now=NOW, **more) -> Run:
    return run_now(schedule=schedule, actor=schedule.owner, now=now, **more)


def refusal(schedule, **more) -> Refusal:
    with pytest.raises(Refusal) as caught:
        press(schedule, **more)
    return caught.value


class TestRunNow:
    def test_it_opens_a_run_at_this_instant_and_moves_nothing(self, schedule, hints):
        """R7, B61."""
        before = row(schedule)
        run = press(schedule)
        assert (run.kind, run.status, run.scheduled_for, run.due_at) == ("manual", "queued", NOW, NOW)
        assert row(schedule) == before
        assert hints == [1]
        [work] = begin()
        settle(ended(work))
        run.refresh_from_db()
        assert run.status == "succeeded"
        stored = Schedule.objects.get()
        assert (stored.next_run_at, stored.succeeded_count, stored.reached_count) == (NOW + HOUR, 1, 0)
        assert stored.last_run_id == run.pk

    @pytest.mark.parametrize(
        "state",
        [{"enabled": False}, {"blocked_reason": "too_many_failures"}, {"completed_at": NOW}, {"zone_data": "old"}],
    )
    def test_it_works_in_every_state_and_changes_none(self, alice, make_schedule, state):
        """R7, B61: on a paused schedule it runs once and stays paused."""
        schedule = make_schedule(owner=alice, **state)
        before = row(schedule)
        press(schedule)
        assert row(schedule) == before
        assert len(begin()) == 1

    def test_a_coming_one_off_stays_armed(self, alice):
        """B60."""
        schedule = due_schedule(alice, cadence={"kind": "once", "at": "2026-06-01T09:00"}, at=NOW + HOUR)
        press(schedule)
        assert Schedule.objects.get().next_run_at == NOW + HOUR

    def test_after_a_missed_occurrence_one_press_is_one_run(self, alice):
        """B55."""
        schedule = due_schedule(alice, cadence={"kind": "daily", "time": "08:00"})
        fire(NOW + 10 * HOUR)
        press(schedule, NOW + 11 * HOUR)
        fire(NOW + 11 * HOUR)
        assert [entry[0] for entry in ledger(schedule)] == ["missed", "queued"]

    def test_one_key_is_one_run(self, schedule):
        first, again = press(schedule, key="k"), press(schedule, NOW + MINUTE, key="k")
        assert first == again
        assert Run.objects.count() == 1

    def test_one_key_is_answered_before_policy_is_asked(self, schedule, alice, olivia):
        """P7: what was accepted once is accepted again, whatever holds by now; a new key is not."""
        first = press(schedule, key="k")
        global_stop_set(on=True, reason="Maintenance", actor=olivia, now=NOW)
        assert press(schedule, NOW + MINUTE, key="k") == first
        assert refusal(schedule, key="new").code == "stopped_by_operator"
        global_stop_set(on=False, actor=olivia, now=NOW + MINUTE)
        alice.groups.clear()
        stranger = User.objects.get(pk=alice.pk)
        assert run_now(schedule=schedule, actor=stranger, now=NOW + 2 * MINUTE, key="k") == first
        with pytest.raises(Refusal) as caught:
            run_now(schedule=schedule, actor=stranger, now=NOW + 2 * MINUTE, key="new")
        assert caught.value.code == "permission_denied"
        assert Run.objects.count() == 1

    @pytest.mark.django_db(transaction=True)
    def test_a_double_click_is_one_run(self, schedule):
        """B87."""
        runs = at_once([lambda: press(schedule, key="k")] * 4)
        assert len({run.pk for run in runs}) == 1
        assert Run.objects.count() == Turn.objects.count() == 1

    def test_one_that_fails_counts_like_any_other(self, schedule):
        Schedule.objects.update(failure_streak=4)
        press(schedule)
        [work] = begin()
        settle(failed(work, retryable=False))
        assert Schedule.objects.get().blocked_reason == "too_many_failures"


class TestRefused:
    def test_what_the_gate_refuses_is_409_with_the_reason_and_a_row_that_neither_counts_nor_blocks(self, schedule):
        type(schedule.agent).objects.update(enabled=False)
        before = row(schedule)
        found = refusal(schedule, key="k")
        assert (found.code, found.status) == ("agent_disabled", 409)
        assert ledger(schedule) == [("refused", "agent_disabled", NOW)]
        assert row(schedule) == before | {"last_run_id": Run.objects.get().pk}  # its card says what became of it
        assert not Turn.objects.exists()

    def test_the_same_key_again_is_told_the_same(self, schedule):
        """Also when the reason has gone meanwhile: the key stands for that request."""
        type(schedule.agent).objects.update(enabled=False)
        first = refusal(schedule, key="k")
        type(schedule.agent).objects.update(enabled=True)
        again = refusal(schedule, key="k", now=NOW + DAY)
        assert (again.code, again.status, again.params) == (first.code, first.status, first.params)
        assert Run.objects.count() == 1
        assert press(schedule, key="another").status == "queued"

    def test_under_the_global_stop_nothing_is_left_and_no_key_is_used_up(self, schedule):
        """R7: a wait leaves no row."""
        GlobalStop.objects.create(on=True, reason="Maintenance")
        found = refusal(schedule, key="k")
        assert (found.code, found.status, found.params) == ("stopped_by_operator", 503, {"reason": "Maintenance"})
        assert not Run.objects.exists()
        GlobalStop.objects.update(on=False)
        assert press(schedule, key="k").status == "queued"

    def test_a_stop_that_comes_up_in_the_middle_is_the_same_answer(self, schedule, monkeypatch):
        monkeypatch.setattr(module, "global_stop", lambda: None)
        GlobalStop.objects.create(on=True, reason="Maintenance")
        assert refusal(schedule).code == "stopped_by_operator"
        assert not Run.objects.exists()

    def test_a_schedule_that_is_being_deleted_is_not_there(self, schedule):
        Schedule.objects.update(deleting_at=NOW, next_run_at=None)
        assert refusal(schedule).code == "not_found"

    def test_a_project_that_is_required_is_asked_for(self, schedule, policy, alice):
        policy(alice, require_project=True)
        assert refusal(schedule).code == "project_required"
        assert Schedule.objects.get().is_on


class TestOverlap:
    def test_skip_answers_already_running_with_the_run(self, schedule):
        first = press(schedule)
        found = refusal(schedule, now=NOW + MINUTE)
        assert (found.code, found.status, found.params) == ("already_running", 409, {"run": first.public_id})
        assert Run.objects.count() == 1

    def test_queue_one_queues_one(self, alice):
        schedule = due_schedule(alice, at=NOW + HOUR, overlap_policy="queue_one")
        press(schedule)
        second = press(schedule, NOW + MINUTE)
        assert second.status == "queued"
        assert refusal(schedule, now=NOW + 2 * MINUTE).code == "already_running"
        assert len(begin()) == 1

    def test_replace_stops_the_one_that_runs(self, alice):
        schedule = due_schedule(alice, at=NOW + HOUR, overlap_policy="replace")
        press(schedule)
        [work] = begin()
        press(schedule, NOW + MINUTE)
        work.turn.refresh_from_db()
        assert work.turn.stop_reason == "replaced"

    def test_allow_lets_them_run_beside_each_other(self, alice):
        schedule = due_schedule(alice, at=NOW + HOUR, overlap_policy="allow")
        press(schedule)
        press(schedule, NOW + MINUTE)
        assert len(begin(NOW + MINUTE)) == 2


class TestStop:
    def test_a_queued_run_is_stopped_at_once(self, schedule, alice):
        run = run_stop(run=press(schedule), actor=alice, now=NOW)
        assert (run.status, run.reason) == ("stopped", "stopped_by_owner")

    def test_a_running_one_is_asked_and_a_second_stop_changes_nothing(self, schedule, alice, olivia):
        run = press(schedule)
        [work] = begin()
        assert run_stop(run=run, actor=olivia, now=NOW).status == "running"
        before = row(work.turn)
        assert before["stop_reason"] == "stopped_by_staff"
        run_stop(run=run, actor=alice, now=NOW + MINUTE)
        assert row(work.turn) == before

    @pytest.mark.parametrize("status", ["succeeded", "failed", "missed", "cancelled"])
    def test_an_ended_run_is_returned_as_it_is(self, schedule, alice, make_run, status):
        run = make_run(schedule=schedule, status=status)
        before = row(run)
        assert run_stop(run=run, actor=alice, now=NOW + DAY) == run
        assert row(run) == before


class TestWriteGate:
    """R18: what the API accepts, the next fire accepts, if nothing changed meanwhile."""

    def test_a_save_asks_rows_3_to_13_and_no_wait(self, schedule, alice, settings):
        settings.GLOBAL_STOP = True
        assert gating.write_refusal(schedule, now=NOW) is None
        type(alice).objects.update(is_active=False)
        assert gating.write_refusal(schedule, now=NOW) == ("owner_inactive", {})

    @pytest.mark.parametrize("wrong", ["agent", "zone", "floor", "permission", "project", "feature"])
    def test_save_and_fire_say_the_same(self, alice, bob, make_agent, make_project, limit, wrong):
        fields = {
            "agent": {"agent": make_agent(owner=bob)},
            "zone": {"zone": "Nowhere/Zone"},
            "floor": {"min_gap_seconds": 60},
            "project": {"project": make_project(owner=bob)},
        }.get(wrong, {})
        if wrong == "permission":
            alice.groups.clear()
        if wrong == "feature":
            limit(alice, enabled=False)
        schedule = due_schedule(alice, **fields)
        reason, params = gating.write_refusal(schedule, now=NOW)
        fire()
        run = Run.objects.get()
        assert (run.reason, run.reason_params) == (reason, params)
