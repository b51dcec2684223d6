"""One process works many turns: stream, flush, stop, deadline, shutdown, hand-over, lost leases (R4, R26, R30, R39)."""

import threading

import pytest

from accounts.models import GlobalStop
from chats.engine import drain as module
from chats.engine.call import STOP, Live
from chats.models import Message, Turn
from chats.services.turns_stop import turn_stop
from core import clock, points
from schedules.models import Run
from tests.chats.engine.conftest import outcome, turn_of, written
from tests.fakes.provider import answer_text
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "[[stream-400x25ms]] Tell me a long story."


def test_a_queued_run_becomes_an_answer(ask, drained, fake):
    """The walk of a prompt: the provider hears it once, the ledger says so, the message is whole."""
    run = ask("What is new?")
    drained()
    assert outcome(run) == ("succeeded", "")
    assert written(run) == answer_text("What is new?", 8)
    assert [entry["prompt"] for entry in fake.requests()] == ["What is new?"]
    turn = turn_of(run)
    assert (turn.status, turn.attempts_made, turn.leased_by) == ("completed", 1, "")
    assert turn.input_tokens > 0
    assert turn.output_tokens > 0


def test_a_batch_larger_than_one_claim_is_worked_at_the_same_time(ask, drained, fake):
    """One drain carries many: forty answers of half a second take far less than twenty."""
    runs = [ask(f"[[slow-0.5]] {n}", overlap_policy="allow") for n in range(40)]
    began = clock.monotonic()
    drained()
    assert {outcome(run) for run in runs} == {("succeeded", "")}
    assert clock.monotonic() - began < 15
    assert max_live(fake) >= 20


def max_live(fake) -> int:
    live = most = 0
    for entry in fake.log():
        live += 1 if entry["event"] == "start" else -1
        most = max(most, live)
    return most


def test_a_reader_sees_the_text_grow(ask, draining):
    run = ask("[[stream-60x25ms]] Tell me a story.")
    draining()
    first = wait_until(lambda: written(run))
    assert Message.objects.get(role="assistant").state == "streaming"
    second = wait_until(lambda: len(written(run)) > len(first) and written(run))
    assert second.startswith(first)
    wait_until(lambda: outcome(run)[0] == "succeeded")
    assert written(run) == answer_text(run.prompt, 60)


class TestStop:
    def test_while_it_streams_the_stream_is_closed_within_a_second_and_the_text_kept(self, ask, draining, fake):
        run = ask(LONG)
        draining()
        wait_until(lambda: written(run))
        pressed = clock.monotonic()
        turn_stop(turn_id=run.turn_id, reason="stopped_by_owner", now=clock.now())
        wait_until(lambda: outcome(run)[0] == "stopped", seconds=5)
        assert clock.monotonic() - pressed < 2
        assert outcome(run) == ("stopped", "stopped_by_owner")
        message = Message.objects.get(role="assistant")
        assert answer_text(LONG, 400).startswith(message.text)
        assert message.text
        assert message.state == "partial"
        assert fake.outcome(1)["outcome"] == "aborted"

    def test_before_the_first_token(self, ask, draining, fake):
        run = ask("[[slow-20]] What is new?")
        draining()
        wait_until(fake.requests)
        turn_stop(turn_id=run.turn_id, reason="stopped_by_owner", now=clock.now())
        wait_until(lambda: outcome(run)[0] == "stopped", seconds=5)
        assert not Message.objects.filter(role="assistant").exists()

    @pytest.mark.parametrize("why", ["stop", "shutdown"])
    def test_in_the_instant_in_which_the_call_was_made_and_had_not_begun(self, ask, draining, monkeypatch, why):
        """A task cancelled before its first step runs no line of itself: its turn settles all the same."""
        run = ask()
        real = module.Live

        class Hasty(real):
            def __setattr__(self, name, value):
                super().__setattr__(name, value)
                if name == "task" and value is not None:
                    self.cancel(why, "stopped_by_owner")

        monkeypatch.setattr(module, "Live", Hasty)
        started = draining()
        if why == "stop":
            wait_until(lambda: outcome(run)[0] == "stopped")
        else:
            wait_until(lambda: Turn.objects.get().attempts.filter(outcome="lost").exists())
        monkeypatch.setattr(module, "Live", real)
        started.end()

    def test_the_first_reason_given_stays(self, db):
        cancelled = []
        live = Live(work=None)
        live.task = type("Task", (), {"cancel": lambda self: cancelled.append(1)})()
        live.cancel(STOP, "stopped_by_owner")
        live.cancel("lost")
        assert (live.cancelled_for, live.stop_reason, cancelled) == ("stop", "stopped_by_owner", [1])


def test_a_turn_past_its_deadline_times_out_and_keeps_its_text(ask, drained):
    """R27, B65: the flag is clear, the capacity free, the next occurrence unaffected."""
    run = ask("[[stall-3]] What is new?", deadline_seconds=1)
    drained()
    assert outcome(run) == ("timed_out", "deadline")
    assert written(run)
    assert answer_text(run.prompt, 3).startswith(written(run))
    assert not Turn.objects.filter(status="running").exists()


def test_nothing_scheduled_is_taken_under_the_global_stop(ask, drained, fake):
    run = ask()
    GlobalStop.objects.create(on=True, reason="Maintenance")
    drained()
    assert outcome(run) == ("queued", "")
    assert fake.requests() == []


def test_a_refused_run_calls_nobody(ask, drained, fake, owner):
    """R16: never bill a model call for something policy refuses."""
    run = ask()
    owner.groups.clear()
    drained()
    assert outcome(run) == ("refused", "permission_revoked")
    assert fake.requests() == []


def test_two_drains_share_a_queue_and_answer_each_run_once(ask, draining, fake):
    """R1, B53: the same hint twice is no second answer."""
    runs = [ask(f"[[slow-0.1]] {n}", overlap_policy="allow") for n in range(30)]
    both = [draining(), draining()]
    for one in both:
        one.end()
    assert {outcome(run) for run in runs} == {("succeeded", "")}
    assert sorted(entry["prompt"] for entry in fake.requests()) == sorted(run.prompt for run in runs)
    assert Run.objects.filter(attempts=1).count() == 30


def test_the_labelled_points_come_in_the_order_of_a_turns_life(ask, drained):
    """Tests of faults stop or kill a process at each of them."""
    ask("[[stream-40x25ms]] Tell me a story.")
    seen, lock = [], threading.Lock()

    def watcher(label, about):
        with lock:
            if label not in seen:
                seen.append(label)

    points.watch(watcher)
    try:
        drained()
    finally:
        points.watch(None)
    assert seen == ["leased", "started", "dispatched", "flushed", "settling", "settled"]
