"""Stop: at once while it waits, asked of the worker while it runs, nothing the second time."""

import threading

import pytest
from django.db import connection, transaction

from chats.models import Message, Turn
from chats.services.turns_lease import text_flush
from chats.services.turns_stop import turn_cancel, turn_give_up, turn_stop
from schedules.models import Run
from tests.support.engine import MINUTE, NOW, SECOND, begin, claim, ended, failed, queued_run, row, settle

pytestmark = pytest.mark.django_db


def stop(turn_id, now=NOW):
    return turn_stop(turn_id=turn_id, reason="stopped_by_owner", now=now)


def test_a_queued_turn_is_stopped_at_once(alice):
    run = queued_run(alice)
    assert stop(run.turn_id) is True
    run.refresh_from_db()
    assert (run.status, run.reason, run.turn.status) == ("stopped", "stopped_by_owner", "stopped")
    assert claim() == []


def test_a_retry_wait_is_stopped_at_once_and_its_empty_draft_goes(alice):
    run = queued_run(alice)
    [work] = begin()
    settle(failed(work))
    assert stop(work.turn.pk) is True
    run.refresh_from_db()
    assert (run.status, run.reason) == ("stopped", "stopped_by_owner")
    assert list(Message.objects.values_list("role", flat=True)) == ["user"]


def test_a_running_turn_is_asked_and_keeps_the_first_reason(alice):
    queued_run(alice)
    [work] = begin()
    assert stop(work.turn.pk) is True
    before = row(work.turn)
    assert (before["status"], before["stop_requested_at"], before["stop_reason"]) == (
        "running",
        NOW,
        "stopped_by_owner",
    )
    assert turn_stop(turn_id=work.turn.pk, reason="replaced", now=NOW + MINUTE) is True
    assert row(work.turn) == before


@pytest.mark.parametrize("status", ["completed", "failed", "stopped", "expired", "cancelled"])
def test_an_ended_turn_stays_as_it_ended(alice, make_turn, status):
    turn = make_turn(owner=alice, status=status, settled_at=NOW)
    before = row(turn)
    assert stop(turn.pk) is False
    assert turn_cancel(turn_id=turn.pk, reason="paused", now=NOW) is False
    assert turn_give_up(turn_id=turn.pk, now=NOW) is False
    assert row(turn) == before


def test_a_turn_that_is_gone_is_no_error(db):
    assert stop(0) is False


def test_a_cancelled_run_says_why(alice):
    run = queued_run(alice)
    assert turn_cancel(turn_id=run.turn_id, reason="paused", now=NOW) is True
    run.refresh_from_db()
    assert (run.status, run.reason) == ("cancelled", "paused")


def test_a_leased_turn_cannot_be_cancelled(alice):
    run = queued_run(alice)
    claim()
    assert turn_cancel(turn_id=run.turn_id, reason="paused", now=NOW) is False


def test_a_retry_wait_that_is_given_up_keeps_its_last_error(alice):
    run = queued_run(alice)
    [work] = begin()
    settle(failed(work, "provider_overloaded", detail="busy"))
    assert turn_give_up(turn_id=work.turn.pk, now=NOW) is True
    run.refresh_from_db()
    assert (run.status, run.reason, run.error_text) == ("failed", "provider_overloaded", "busy")


@pytest.mark.django_db(transaction=True)
def test_a_stop_that_meets_a_lease_being_taken_is_not_lost(alice):
    """Stop: the turn is queued for one and running for the other; the worker is asked."""
    run = queued_run(alice)
    leased, answered = threading.Event(), []

    def press_stop():
        leased.wait(10)
        answered.append(stop(run.turn_id))
        connection.close()

    person = threading.Thread(target=press_stop)
    person.start()
    with transaction.atomic():
        claim()
        leased.set()
        person.join(0.5)  # it waits for the row
        assert answered == []
    person.join(10)
    assert answered == [True]
    turn = Turn.objects.get()
    assert (turn.status, turn.stop_reason) == ("running", "stopped_by_owner")


def test_a_settle_after_a_stop_in_the_queue_is_lost(alice):
    """R4: the fence moved on with the stop."""
    queued_run(alice)
    [work] = begin()
    Turn.objects.update(status="queued", lease_expires_at=None)
    text_flush(rows=[(work.message_id, work.fence, "Half")])
    stop(work.turn.pk)
    assert settle(ended(work), now=NOW + SECOND) == set()
    assert Run.objects.get().status == "stopped"
    message = Message.objects.get(role="assistant")
    assert (message.text, message.state) == ("Half", "partial")
