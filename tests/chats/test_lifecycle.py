"""Every (state, move) pair of a turn: what is not named changes nothing (R2, R4)."""

import pytest

from chats import lifecycle
from chats.domain.states import TERMINAL_TURN, TurnStatus
from chats.lifecycle import Fenced, Lost
from tests.support.engine import HOUR, MINUTE, NOW, row

pytestmark = pytest.mark.django_db
STATES = [status.value for status in TurnStatus]
FENCE = 3
LATER = NOW + MINUTE


@pytest.fixture
def turn_in(alice, make_turn):
    """Return a turn of Alice's in a given state, under fence 3 where it is leased."""

    def make(status: str, **fields):
        if status == "running":
            fields = {"leased_by": "host/1/a", "leased_at": NOW, "lease_expires_at": LATER, **fields}
        if status in TERMINAL_TURN:
            fields = {"settled_at": NOW, **fields}
        return make_turn(owner=alice, status=status, fence=FENCE, **fields)

    return make


def lease(turn, fence):
    return bool(lifecycle.lease([turn.pk], worker="host/2/b", now=LATER, expires_at=LATER + MINUTE))


def release(turn, fence):
    return lifecycle.release(Fenced(turn.pk, fence), now=LATER, not_before=LATER + HOUR)


def settle(turn, fence):
    return lifecycle.settle(Fenced(turn.pk, fence), status="completed", now=LATER, error_code="")


def settle_queued(turn, fence):
    return lifecycle.settle_queued(turn.pk, status="cancelled", now=LATER, error_code="paused")


MOVES = {lease: ("queued", "running"), release: ("running", "queued"),
         settle: ("running", "completed"), settle_queued: ("queued", "cancelled")}  # fmt: skip


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_each_move_leaves_its_own_state_only(turn_in, make_agent, move):
    """R2: a terminal status never changes; a lost move changes no column at all."""
    source, target = MOVES[move]
    agent = make_agent()
    for status in STATES:
        turn = turn_in(status, agent=agent)
        before = row(turn)
        assert move(turn, FENCE) is (status == source), status
        after = row(turn)
        assert after["status"] == (target if status == source else status), status
        assert status == source or after == before, status


@pytest.mark.parametrize("move", [release, settle])
@pytest.mark.parametrize("fence", [FENCE - 1, FENCE + 1])
def test_another_fence_changes_nothing(turn_in, move, fence):
    """R4."""
    turn = turn_in("running")
    before = row(turn)
    assert move(turn, fence) is False
    assert row(turn) == before


def test_a_lease_raises_the_fence_and_names_worker_and_end(turn_in):
    turn = turn_in("queued")
    [leased] = lifecycle.lease([turn.pk], worker="host/2/b", now=LATER, expires_at=LATER + MINUTE)
    assert (leased.fence, leased.leased_by) == (FENCE + 1, "host/2/b")
    assert (leased.leased_at, leased.lease_expires_at) == (LATER, LATER + MINUTE)


def test_a_released_turn_waits_until_its_instant_and_is_nobodys(turn_in):
    turn = turn_in("running")
    release(turn, FENCE)
    turn.refresh_from_db()
    assert (turn.leased_by, turn.lease_expires_at, turn.not_before) == ("", None, LATER + HOUR)


@pytest.mark.parametrize("status", sorted(set(STATES) - set(TERMINAL_TURN)))
def test_settling_means_a_terminal_status(turn_in, status):
    with pytest.raises(ValueError, match="not terminal"):
        lifecycle.settle(Fenced(turn_in("running").pk, FENCE), status=status, now=LATER)
    with pytest.raises(ValueError, match="not terminal"):
        lifecycle.settle_queued(turn_in("queued").pk, status=status, now=LATER)


def test_a_turn_given_up_in_the_queue_loses_its_old_worker_too(turn_in):
    """R4: the fence moves on, so that a worker that wakes cannot take it for its own."""
    turn = turn_in("queued")
    settle_queued(turn, FENCE)
    assert row(turn)["fence"] == FENCE + 1


def test_many_are_settled_together_or_the_caller_is_told(turn_in):
    """R4: of a batch in which one was moved meanwhile nothing may be taken for written."""
    turns = [turn_in("running"), turn_in("queued")]
    with pytest.raises(Lost):
        lifecycle.settle_many([(Fenced(turn.pk, FENCE), "completed", {}) for turn in turns], now=LATER)
