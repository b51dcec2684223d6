"""Every (state, move) pair of a run (R2) and of a schedule (Schedule state)."""

import pytest

from chats.lifecycle import Lost
from schedules import lifecycle
from schedules.domain.states import MOVES, NEVER_RAN, TERMINAL, RunStatus
from schedules.domain.streaks import Counters
from schedules.models import Run, Schedule
from tests.support.engine import DAY, HOUR, NOW, SECOND, row

pytestmark = pytest.mark.django_db
STATES = [status.value for status in RunStatus]

# Every allowed move; what is not here is refused.
TABLE = {
    "queued": "running succeeded empty failed timed_out interrupted stopped skipped refused missed cancelled",
    "running": "queued needs_approval succeeded empty failed timed_out interrupted stopped skipped refused",
    "needs_approval": "queued stopped expired refused cancelled",
}


@pytest.fixture
def schedule(alice, make_schedule):
    return make_schedule(owner=alice)


@pytest.fixture
def run_in(schedule, make_run, make_turn, make_conversation):
    """Return a run in a given state with its turn."""

    def make(status: str, **fields):
        turn = make_turn(owner=schedule.owner, origin="schedule", agent=schedule.agent)
        return make_run(schedule=schedule, status=status, turn=turn, **fields)

    return make


def move(run: Run, target: str, conversation) -> bool:
    """Move `run` as the services do; return whether it moved."""
    before = run.status
    if target == RunStatus.RUNNING:
        lifecycle.start([run], conversations={run.pk: conversation.pk}, now=NOW + HOUR)
    elif target == RunStatus.QUEUED:
        lifecycle.requeue([run.pk], now=NOW + HOUR)
    else:
        return bool(lifecycle.settle_many([(run, target, "why", {"a": 1}, run.turn)], now=NOW + HOUR))
    return before != target == Run.objects.get(pk=run.pk).status


def test_the_table_is_the_products_own():
    assert {state: set(targets.split()) for state, targets in TABLE.items()} == {
        state: set(targets) for state, targets in MOVES.items()
    }


@pytest.mark.parametrize("target", ["queued", "running", *TERMINAL])
def test_each_move_is_made_from_its_states_only(run_in, make_conversation, alice, target):
    """R2: a terminal status never changes, and a refused move changes no column."""
    conversation = make_conversation(owner=alice)
    for number, state in enumerate(STATES):
        run = run_in(state, scheduled_for=NOW + number * DAY)
        before = row(run)
        allowed = target in TABLE.get(state, "").split()
        assert move(run, target, conversation) is allowed, (state, target)
        after = row(run)
        assert allowed or after == before, (state, target)
        assert not allowed or after["status"] == target, (state, target)
        assert (after["settled_at"] is not None) == (after["status"] in TERMINAL), (state, target)
        run.delete()  # at most one runs per schedule


@pytest.mark.parametrize("state", TERMINAL)
def test_a_settled_run_keeps_everything_also_when_an_old_copy_is_written(run_in, state):
    """R2: the write names the state that the caller read."""
    run = run_in(state)
    before = row(run)
    run.status = "running"  # what a worker believes that read it an hour ago
    with pytest.raises(Lost):
        lifecycle.settle_many([(run, "succeeded", "", {}, run.turn)], now=NOW + HOUR)
    assert row(run) == before


def test_the_first_start_stays_the_start(run_in, make_conversation, alice):
    run, conversation = run_in("queued"), make_conversation(owner=alice)
    lifecycle.start([run], conversations={run.pk: conversation.pk}, now=NOW)
    lifecycle.requeue([run.pk], now=NOW)
    run.refresh_from_db()
    lifecycle.start([run], conversations={run.pk: conversation.pk}, now=NOW + HOUR)
    run.refresh_from_db()
    assert (run.status, run.started_at) == ("running", NOW)


@pytest.mark.parametrize(("after", "late"), [(0, False), (30, False), (31, True)])
def test_a_run_that_starts_over_30_s_after_it_was_due_is_late(run_in, make_conversation, alice, after, late):
    run, start = run_in("queued"), NOW + HOUR
    run.due_at = start
    run.save()
    conversation = make_conversation(owner=alice)
    lifecycle.start([run], conversations={run.pk: conversation.pk}, now=start + after * SECOND)
    assert row(run)["late"] is late


def test_a_retry_hours_later_does_not_make_a_punctual_run_late(run_in, make_conversation, alice):
    run, conversation = run_in("queued"), make_conversation(owner=alice)
    lifecycle.start([run], conversations={run.pk: conversation.pk}, now=NOW)
    lifecycle.requeue([run.pk], now=NOW)
    run.refresh_from_db()
    lifecycle.start([run], conversations={run.pk: conversation.pk}, now=NOW + HOUR)
    assert row(run)["late"] is False


@pytest.mark.parametrize("status", STATES)
def test_a_run_is_opened_queued_or_as_one_that_never_runs(schedule, status):
    if status == "queued" or status in NEVER_RAN:
        run = lifecycle.opened(schedule, status=status, now=NOW, kind="scheduled")
        assert (run.settled_at is None) == (status == "queued")
        assert (run.prompt, run.agent_id, run.revision) == (schedule.prompt, schedule.agent_id, schedule.revision)
    else:
        with pytest.raises(ValueError, match="not opened"):
            lifecycle.opened(schedule, status=status, now=NOW, kind="scheduled")


@pytest.mark.parametrize("started", [False, True])
def test_only_a_queued_run_that_never_started_is_cancelled_or_refreshed(run_in, schedule, started):
    """Edit and pause: a run that has started, retry wait included, keeps its snapshot."""
    schedule.prompt, schedule.revision, schedule.deadline_seconds = "New text", 2, 99
    for number, status in enumerate(STATES):
        when = {"started_at": NOW if started else None, "scheduled_for": NOW + number * DAY}
        run = run_in(status, prompt="Say good morning.", revision=1, **when)
        fresh = status == "queued" and not started
        assert lifecycle.refresh_unstarted(schedule, now=NOW) == fresh, status
        run.refresh_from_db()
        assert (run.prompt, run.revision) == (("New text", 2) if fresh else ("Say good morning.", 1)), status
        assert (row(run.turn)["deadline_seconds"] == 99) is fresh, status
        assert lifecycle.cancel_unstarted(schedule, reason="paused", now=NOW) == fresh, status
        run.refresh_from_db()
        assert (run.status, run.reason) == (("cancelled", "paused") if fresh else (status, "")), status
        run.delete()  # at most one runs per schedule, and a queued one would be met again


# The schedule's own state: (enabled, blocked_reason, completed, deleting).
ON = (True, "", False, False)
SCHEDULE_STATES = {
    "on": ON,
    "paused": (False, "", False, False),
    "blocked": (True, "agent_deleted", False, False),
    "completed": (True, "", True, False),
    "deleting": (True, "", False, True),
}
SCHEDULE_MOVES = {
    "pause": lambda s: lifecycle.pause(s, now=NOW),
    "enable": lambda s: lifecycle.enable(s, now=NOW),
    "block": lambda s: lifecycle.block(s, reason="too_many_failures", params={}, now=NOW),
    "unblock": lambda s: lifecycle.unblock(s, now=NOW),
    "complete": lambda s: lifecycle.complete(s, now=NOW),
    "reopen": lambda s: lifecycle.reopen(s, now=NOW),
    "mark_deleting": lambda s: lifecycle.mark_deleting(s, now=NOW),
}


def expected(state: tuple, move: str) -> tuple:
    enabled, blocked, completed, deleting = state
    if move == "block":
        refused = bool(blocked) or deleting
        return state if refused else (enabled, "too_many_failures", completed, deleting)
    return {
        "pause": (False, blocked, completed, deleting),
        "enable": (True, "", completed, deleting),
        "unblock": (enabled, "", completed, deleting),
        "complete": (enabled, blocked, True, deleting),
        "reopen": (enabled, blocked, False, deleting),
        "mark_deleting": (enabled, blocked, completed, True),
    }[move]


def state_of(schedule: Schedule) -> tuple:
    return (
        schedule.enabled,
        schedule.blocked_reason,
        schedule.completed_at is not None,
        schedule.deleting_at is not None,
    )


@pytest.mark.parametrize("move_name", SCHEDULE_MOVES)
def test_each_move_of_a_schedule_changes_its_own_part_and_a_schedule_that_is_off_is_not_armed(
    alice, make_agent, make_schedule, move_name
):
    """R6: `next_run_at` stands only while the schedule is on; every move off takes it away."""
    agent = make_agent()
    for name, state in SCHEDULE_STATES.items():
        enabled, blocked, completed, deleting = state
        armed = NOW + DAY if state == ON else None
        schedule = make_schedule(
            owner=alice, agent=agent, enabled=enabled, blocked_reason=blocked, completed_at=NOW if completed else None,
            deleting_at=NOW if deleting else None, next_run_at=armed, next_occurrence_at=armed,
        )  # fmt: skip
        SCHEDULE_MOVES[move_name](schedule)
        stored = Schedule.objects.get(pk=schedule.pk)
        assert state_of(stored) == expected(state, move_name), name
        assert state_of(schedule) == state_of(stored), name
        assert stored.next_run_at == (armed if stored.is_on else None), name
        assert stored.next_occurrence_at == stored.next_run_at, name


def test_enabling_clears_both_streaks(alice, make_schedule):
    """R14."""
    schedule = make_schedule(owner=alice, enabled=False, failure_streak=5, balance_skip_streak=5, streak_through=NOW)
    lifecycle.enable(schedule, now=NOW)
    stored = Schedule.objects.get(pk=schedule.pk)
    assert (stored.failure_streak, stored.balance_skip_streak, stored.streak_through) == (0, 0, None)


def test_counters_are_written_without_touching_what_the_owner_edits(schedule):
    """R11, B70: an old copy in a worker's hand renames and re-enables nothing."""
    Schedule.objects.filter(pk=schedule.pk).update(name="Renamed", enabled=False)
    lifecycle.write_counters([(schedule, Counters(1, 2, 3, 4, NOW))], now=NOW)
    stored = Schedule.objects.get(pk=schedule.pk)
    assert (stored.name, stored.enabled) == ("Renamed", False)
    assert (stored.succeeded_count, stored.reached_count, stored.failure_streak) == (1, 2, 3)


def test_the_card_shows_the_newest_occurrence_whatever_settles_later(run_in, schedule):
    old, new = run_in("succeeded", scheduled_for=NOW), run_in("failed", scheduled_for=NOW + DAY)
    lifecycle.show_last([new])
    lifecycle.show_last([old])
    assert row(schedule)["last_run_id"] == new.pk


def test_an_erased_schedule_leaves_no_run_and_its_conversations_stay(run_in, schedule, make_conversation, alice):
    conversation = make_conversation(owner=alice)
    run = run_in("succeeded", conversation=conversation)
    lifecycle.show_last([run])
    lifecycle.erase(schedule, now=NOW)
    assert not Schedule.objects.exists()
    assert not Run.objects.exists()
    conversation.refresh_from_db()
