"""One process works many turns: stream, flush, stop, deadline, shutdown, hand-over, lost leases (R4, R26, R30, R39)."""

import threading
from datetime import timedelta

import pytest
from django.db import DataError, OperationalError

from accounts.models import GlobalStop
from chats.engine import drain as module
from chats.engine import points, settling
from chats.engine.call import STOP, Live
from chats.models import Message, Turn, WorkerHost
from chats.services.turns_stop import turn_stop
from core import clock
from schedules.models import Run, Schedule
from tests import factories
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
    assert written(run) == answer_text(run.prompt, 3)
    assert not Turn.objects.filter(status="running").exists()


class TestOneHarmsNoOther:
    """R39."""

    def test_a_turn_whose_call_breaks_inside(self, ask, drained):
        """A stored key that cannot be read: `failed: internal` for that turn alone."""
        broken_provider = factories.make_provider(key_encrypted="not a sealed key")
        agent = factories.make_agent(model=factories.make_model(provider=broken_provider))
        broken, fine = ask(agent=agent), [ask(f"{n}") for n in range(3)]
        drained()
        assert outcome(broken) == ("failed", "internal")
        assert {outcome(run) for run in fine} == {("succeeded", "")}

    def test_a_turn_whose_start_breaks(self, ask, drained):
        """Started one by one after the batch was undone."""
        fine, broken, more = ask("one"), ask("two"), ask("three")
        Schedule.objects.filter(pk=broken.schedule_id).update(zone="Nowhere/Zone")
        drained()
        assert [outcome(run) for run in (fine, broken, more)] == [
            ("succeeded", ""), ("failed", "internal"), ("succeeded", ""),
        ]  # fmt: skip

    def test_a_start_that_the_database_fails_is_tried_again_and_is_nobodys_failure(self, ask, drained, monkeypatch):
        """A deadlock or a restart is not `failed: internal`."""
        runs = [ask("one"), ask("two")]
        real, failures = module.turns_start, [OperationalError("deadlock detected")] * 2

        def deadlocked(**arguments):
            if failures:
                raise failures.pop()
            return real(**arguments)

        monkeypatch.setattr(module, "turns_start", deadlocked)
        drained()
        assert {outcome(run) for run in runs} == {("succeeded", "")}
        assert {turn_of(run).attempts_made for run in runs} == {1}

    def test_an_ending_that_the_database_refuses_becomes_internal_at_once(self, ask, drained, monkeypatch):
        """Neither do the others wait for it, nor does its turn hold capacity."""
        fine, bad = ask("one"), ask("two")
        real = settling.turns_settle

        def refuse(*, ends, now):
            if any(end.turn_id == bad.turn_id and end.code != "internal" for end in ends):
                raise DataError("value out of range")
            return real(ends=ends, now=now)

        monkeypatch.setattr(settling, "turns_settle", refuse)
        began = clock.monotonic()
        drained()
        assert (outcome(fine), outcome(bad)) == (("succeeded", ""), ("failed", "internal"))
        assert clock.monotonic() - began < 10

    def test_an_ending_that_meets_a_database_that_is_away_is_written_later(self, ask, drained, monkeypatch):
        """An answer that a model gave is never lost."""
        run = ask()
        real, failures = settling.turns_settle, [OperationalError("away")] * 2

        def away(*, ends, now):
            if failures:
                raise failures.pop()
            return real(ends=ends, now=now)

        monkeypatch.setattr(settling, "turns_settle", away)
        drained()
        assert outcome(run) == ("succeeded", "")
        assert written(run) == answer_text(run.prompt, 8)

    def test_a_flush_that_fails_is_tried_again_and_the_stream_goes_on(self, ask, draining, monkeypatch):
        run = ask("[[stream-60x25ms]] Tell me a story.")
        real, failures = module.text_flush, [ValueError("no such thing"), OperationalError("locked")]

        def refuse(**arguments):
            if failures:
                raise failures.pop()
            real(**arguments)

        monkeypatch.setattr(module, "text_flush", refuse)
        draining()
        wait_until(lambda: written(run))
        assert not failures
        wait_until(lambda: outcome(run)[0] == "succeeded")

    def test_stops_are_heard_again_after_they_could_not_be_read(self, ask, draining, monkeypatch):
        run = ask(LONG)
        real, failures = module.stops_requested, [ValueError("no such thing"), OperationalError("locked")]

        def refuse(**arguments):
            if failures:
                raise failures.pop()
            return real(**arguments)

        monkeypatch.setattr(module, "stops_requested", refuse)
        draining()
        wait_until(lambda: written(run))
        turn_stop(turn_id=run.turn_id, reason="stopped_by_owner", now=clock.now())
        wait_until(lambda: outcome(run)[0] == "stopped", seconds=5)


class TestLeases:
    def test_a_turn_that_somebody_else_leased_is_dropped_and_nothing_more_is_written(self, ask, draining, fake):
        """R4: the heartbeat returns what is still its own; the stream of the rest is closed."""
        run = ask(LONG)
        started = draining()
        wait_until(lambda: written(run))
        wait_until(lambda: turn_of(run).lease_expires_at > clock.now() + timedelta(seconds=50))
        Turn.objects.update(leased_by="other/1/x", fence=9)
        Message.objects.filter(role="assistant").update(fence=9, text="Theirs")
        assert fake.outcome(1, within=5)["outcome"] == "aborted"
        started.end()
        assert written(run) == "Theirs"
        assert turn_of(run).status == "running"

    def test_leases_are_kept_alive_while_a_turn_is_worked(self, ask, draining, settings):
        """R26: by a thread of their own."""
        settings.LEASE_SECONDS = 2
        run = ask("[[stream-100x30ms]] Tell me a story.")
        draining()
        first = wait_until(lambda: turn_of(run).lease_expires_at)
        wait_until(lambda: turn_of(run).lease_expires_at != first)
        wait_until(lambda: outcome(run)[0] == "succeeded")
        assert turn_of(run).fence == 1

    def test_a_turn_that_was_leased_and_could_not_be_started_is_not_kept_alive(self, ask, drained, monkeypatch):
        """R25: its lease runs out, and recovery queues it again; nothing was spent."""
        run = ask()

        def away(**arguments):
            raise OperationalError("away")

        monkeypatch.setattr(module, "turns_start", away)
        drained()
        turn = turn_of(run)
        assert (turn.status, turn.attempts_made) == ("running", 0)
        assert turn.lease_expires_at == turn.leased_at + timedelta(seconds=60)


class TestShutdown:
    """R30: nothing new is leased; running turns have a drain time; then their leases are released with text flushed."""

    def ask_to_stop(self):
        WorkerHost.objects.update(stopped_at=clock.now())

    def test_what_runs_may_finish(self, ask, draining, settings):
        settings.DRAIN_SECONDS = 10
        run = ask("[[stream-40x25ms]] Tell me a story.")
        started = draining()
        wait_until(lambda: written(run))
        self.ask_to_stop()
        wait_until(lambda: not started.drain.accepting)
        later = ask("Another")
        started.end()
        assert outcome(run) == ("succeeded", "")
        assert outcome(later) == ("queued", "")

    def test_without_patience_what_has_text_is_kept_as_interrupted(self, ask, draining, settings):
        settings.DRAIN_SECONDS = 0
        run = ask(LONG)
        started = draining()
        wait_until(lambda: written(run))
        self.ask_to_stop()
        started.end()
        assert outcome(run) == ("interrupted", "worker_lost")
        assert answer_text(LONG, 400).startswith(written(run))
        assert written(run)

    def test_without_patience_what_has_no_text_yet_is_queued_again(self, ask, draining, fake, settings):
        settings.DRAIN_SECONDS = 0
        run = ask("[[slow-20]] What is new?")
        started = draining()
        wait_until(fake.requests)
        self.ask_to_stop()
        started.end()
        turn = turn_of(run)
        assert (turn.status, turn.leased_by, turn.lease_expires_at) == ("queued", "", None)
        assert outcome(run) == ("queued", "")


class TestPeriod:
    """R26: a drain whose period is over hints its successor, stops leasing when that one leases, and ends."""

    def test_with_nothing_to_do_it_ends(self, ask, drained, settings):
        settings.DRAIN_PERIOD_SECONDS = -1
        drained()

    def test_it_goes_on_leasing_until_its_successor_does(self, ask, draining, settings, monkeypatch):
        hints = []
        monkeypatch.setattr(module, "hint_drain", lambda: hints.append(1))
        settings.DRAIN_PERIOD_SECONDS = 0.2
        long, started = ask(LONG), draining()
        wait_until(lambda: hints)
        second = ask("Second")
        wait_until(lambda: outcome(second)[0] == "succeeded")
        now = clock.now()
        taken = factories.make_turn(
            owner=long.owner, agent=long.agent, status="running", fence=1, leased_by="host/9/z", leased_at=now,
            lease_expires_at=now + timedelta(minutes=1),
        )  # fmt: skip
        wait_until(lambda: not started.drain.accepting)
        third = ask("Third")
        turn_stop(turn_id=long.turn_id, reason="stopped_by_owner", now=clock.now())
        started.end()
        assert outcome(third) == ("queued", "")
        assert hints == [1]
        taken.delete()


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

    def watcher(label):
        with lock:
            if label not in seen:
                seen.append(label)

    points.watch(watcher)
    try:
        drained()
    finally:
        points.watch(None)
    assert seen == ["leased", "started", "dispatched", "flushed", "settling", "settled"]
