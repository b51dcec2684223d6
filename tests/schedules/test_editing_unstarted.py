"""Edit, pause and delete while a run waits for a worker or was just leased: nothing of the old schedule starts."""

from __future__ import annotations

import pytest

from chats.models import Turn, TurnAttempt
from chats.services.turns_start import turns_start
from schedules.models import Run, Schedule
from schedules.services.editing import schedule_delete, schedule_edit, schedule_pause, schedule_resume
from schedules.services.runs import run_now
from tests.support.engine import HOUR, MINUTE, NOW, SECOND, begin, claim, due_schedule, ledger, queued_run

pytestmark = pytest.mark.django_db
LATER = NOW + 2 * SECOND
START = NOW + 3 * SECOND


def outcome(run: Run) -> tuple[str, str]:
    run.refresh_from_db()
    return run.status, run.reason


class TestEdit:
    """Edit: runs that never started become what the schedule says now."""

    def test_one_that_is_leased_starts_with_the_new_prompt_agent_and_deadline_together(self, alice, make_agent):
        new = make_agent(name="New")
        run = queued_run(alice)
        leased = claim(NOW + SECOND)
        body = {"prompt": "New words", "agent": new.public_id, "deadline_seconds": 60}
        schedule_edit(schedule=run.schedule, body=body, now=LATER)
        [work] = turns_start(turns=leased, now=START)
        run.refresh_from_db()
        assert (work.prompt, work.turn.agent_id, run.agent_id) == ("New words", new.pk, new.pk)
        assert (work.turn.deadline_seconds, work.seconds_left) == (60, 60)
        assert run.revision == Schedule.objects.get().revision

    def test_one_that_has_started_stays_as_it_began(self, alice, make_agent):
        """R11."""
        run = queued_run(alice)
        [work] = begin(NOW + SECOND)
        before = Turn.objects.filter(pk=work.turn.pk).values().get()
        body = {"prompt": "New words", "agent": make_agent().public_id, "deadline_seconds": 60}
        schedule_edit(schedule=run.schedule, body=body, now=LATER)
        assert Turn.objects.filter(pk=work.turn.pk).values().get() == before
        run.refresh_from_db()
        assert (run.prompt, run.agent_id) == ("Say good morning.", work.turn.agent_id)

    def test_a_deadline_that_is_cleared_falls_back_to_the_agents(self, alice, make_agent):
        """R27: also for the run that waits."""
        run = queued_run(alice, agent=make_agent(deadline_seconds=900), deadline_seconds=60)
        assert Turn.objects.get().deadline_seconds == 60
        schedule_edit(schedule=run.schedule, body={"deadline_seconds": None}, now=LATER)
        assert Turn.objects.get().deadline_seconds == 900

    def test_a_waiting_run_by_hand_keeps_the_pinned_project(self, alice, make_schedule, make_project, policy):
        """P4, P10, P11: renaming a paused schedule does not change where its run is filed."""
        pinned = make_project(owner=alice, name="Pinned")
        schedule = make_schedule(owner=alice, enabled=False)
        policy(alice, pinned_project=pinned)
        run = run_now(schedule=schedule, actor=alice, now=NOW)
        assert run.project_id == pinned.pk
        schedule_edit(schedule=schedule, body={"name": "Renamed"}, now=LATER)
        begin(START)
        assert outcome(run) == ("running", "")
        assert (run.project_id, run.conversation.project_id, run.name) == (pinned.pk, pinned.pk, "Renamed")


class TestOff:
    """R2, R19: what was leased when the owner switched off is cancelled at its start, and calls nobody."""

    def leased(self, run: Run) -> list[Turn]:
        turns = claim(NOW + SECOND)
        assert [turn.pk for turn in turns] == [run.turn_id]
        return turns

    def cancelled(self, run: Run, turns: list[Turn], reason: str) -> None:
        assert turns_start(turns=turns, now=START) == []
        assert outcome(run) == ("cancelled", reason)
        assert not TurnAttempt.objects.exists()

    def test_a_pause_cancels_it(self, alice):
        run = queued_run(alice)
        turns = self.leased(run)
        schedule_pause(schedule=run.schedule, now=LATER)
        self.cancelled(run, turns, "paused")

    def test_an_edit_that_switches_off_cancels_it(self, alice):
        run = queued_run(alice)
        turns = self.leased(run)
        schedule_edit(schedule=run.schedule, body={"enabled": False}, now=LATER)
        self.cancelled(run, turns, "paused")

    def test_a_resume_right_afterwards_does_not_bring_it_back(self, alice):
        """C12: resuming looks forward only."""
        run = queued_run(alice)
        turns = self.leased(run)
        paused = schedule_pause(schedule=run.schedule, now=LATER)
        schedule_resume(schedule=paused, now=LATER)
        self.cancelled(run, turns, "paused")
        assert Schedule.objects.get().next_run_at == NOW + HOUR

    def test_one_by_hand_is_cancelled_alike(self, alice, make_schedule):
        schedule = make_schedule(owner=alice, armed=True)
        run = run_now(schedule=schedule, actor=alice, now=NOW)
        turns = self.leased(run)
        schedule_pause(schedule=schedule, now=LATER)
        self.cancelled(run, turns, "paused")

    def test_a_delete_calls_nobody_and_the_schedule_goes_with_its_last_run(self, alice):
        run = queued_run(alice)
        turns = self.leased(run)
        assert schedule_delete(schedule=run.schedule, now=LATER) is False
        assert turns_start(turns=turns, now=START) == []
        assert outcome(run) == ("cancelled", "deleted")
        assert not TurnAttempt.objects.exists()


class TestKnownAlready:
    """C12, C15: a mark that was put back too far meets rows that exist; the owner's act is allowed all the same."""

    @pytest.fixture
    def schedule(self, alice, make_run):
        schedule = due_schedule(alice)
        make_run(schedule=schedule, scheduled_for=NOW)
        return schedule

    def test_a_pause_keeps_the_row_that_is_there(self, schedule):
        """R19."""
        assert not schedule_pause(schedule=schedule, now=NOW + MINUTE).is_on
        assert ledger(schedule) == [("succeeded", "", NOW)]

    def test_an_edit_of_the_rule_keeps_it_too(self, schedule):
        schedule_edit(schedule=schedule, body={"cadence": {"kind": "daily", "time": "10:00"}}, now=NOW + MINUTE)
        assert ledger(schedule) == [("succeeded", "", NOW)]
        assert Schedule.objects.get().next_run_at == NOW + 2 * HOUR

    def test_only_what_has_no_row_is_closed(self, schedule):
        schedule_pause(schedule=schedule, now=NOW + HOUR + MINUTE)
        assert ledger(schedule) == [("succeeded", "", NOW), ("cancelled", "paused", NOW + HOUR)]
