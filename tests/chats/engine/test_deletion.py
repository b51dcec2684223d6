"""An account's deletion meets a real drain: the stream is stopped, nothing new is leased, and a cancel lets it go on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from accounts.services.deletion import deletion_cancel, deletion_request
from chats.models import Message, Turn
from core import clock
from schedules.models import Run
from tests.chats.engine.conftest import Draining, outcome, written
from tests.fakes.provider import FakeProvider
from tests.support.engine import HOUR, MINUTE, fire, ledger
from tests.support.leaving import swept

LONG = "[[stream-500x20ms]] Tell me everything."


def until(true: Callable[[], Any], seconds: float = 15) -> Any:
    """Wait for what another thread does."""
    import time

    end = clock.monotonic() + seconds
    while clock.monotonic() < end:
        if found := true():
            return found
        time.sleep(0.02)
    raise AssertionError("it never happened")


def test_a_stream_is_stopped_and_what_passes_meanwhile_follows_the_misfire_policy(
    ask: Callable[..., Run], owner: Any, draining: Callable[[], Draining]
):
    """A2, R38: after a cancel there is exactly one stopped run, and the rows of three occurrences that passed."""
    run = ask(LONG, misfire_grace_seconds=60)
    drain = draining()
    until(lambda: written(run))
    deletion_request(user=owner, actor=owner, now=clock.now())
    drain.end()
    assert outcome(run) == ("stopped", "account_deleting")
    assert written(run)
    schedule = run.schedule
    schedule.refresh_from_db()
    passed = schedule.next_run_at + 2 * HOUR + 10 * MINUTE
    fire(passed)
    deletion_cancel(user=owner, actor=owner, now=passed)
    fire(passed)
    assert [entry[:2] for entry in ledger(schedule)] == [("stopped", "account_deleting"), ("missed", "misfire")]
    assert Run.objects.get(schedule=schedule, status="missed").missed_count == 3


def test_a_queued_turn_waits_out_the_deletion_and_runs_after_a_cancel(
    ask: Callable[..., Run], owner: Any, drained: Callable[[], None], fake: FakeProvider
):
    """A4: no drain calls its model, and no attempt is used up."""
    run = ask("What is new?", misfire_grace_seconds=7200)
    deletion_request(user=owner, actor=owner, now=run.opened_at)
    drained()
    turn = Turn.objects.get(pk=run.turn_id)
    assert (outcome(run)[0], turn.attempts_made, turn.fence, fake.requests()) == ("queued", 0, 0, [])
    deletion_cancel(user=owner, actor=owner, now=run.opened_at + MINUTE)
    drained()
    assert outcome(run)[0] == "succeeded"


def test_a_stream_in_flight_brings_nothing_back(
    ask: Callable[..., Run], owner: Any, draining: Callable[[], Draining], settings: Any
):
    """A5: erased past its lease, as after a stall; the worker that wakes finds nothing to write to."""
    settings.HEARTBEAT_SECONDS = 600  # it renews its lease once and then stalls
    run = ask("[[stream-200x20ms]] Tell me everything.")
    drain = draining()
    until(lambda: written(run))
    request = deletion_request(user=owner, actor=owner, grace=timedelta(0), now=clock.now())
    Turn.objects.filter(pk=run.turn_id).update(stop_requested_at=None, lease_expires_at=clock.now() - MINUTE)
    swept(clock.now())
    drain.end(40)
    request.refresh_from_db()
    assert request.state == "done"
    assert not (Message.objects.exists() or Turn.objects.exists() or Run.objects.exists())
