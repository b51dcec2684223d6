"""One turn never harms another in its drain, and a lost lease writes nothing (R4, R39)."""

from datetime import timedelta

import pytest
from django.db import DataError, OperationalError

from chats.engine import call, settling
from chats.engine import drain as module
from chats.models import Message, Turn
from chats.services.turns_stop import turn_stop
from core import clock
from schedules.services import origin
from tests import factories
from tests.chats.engine.conftest import outcome, turn_of, written
from tests.fakes.provider import answer_text
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "[[stream-400x25ms]] Tell me a long story."


class TestOneHarmsNoOther:
    """R39."""

    def test_a_turn_whose_call_breaks_inside(self, ask, drained, monkeypatch):
        """A bug on the way to the model: `failed: internal` for that turn alone."""
        agent = factories.make_agent(model=factories.make_model(name="bug"))
        real = call.spec_for

        def spec_for(chosen, **arguments):
            if chosen.model.name == "bug":
                raise ZeroDivisionError("a bug")
            return real(chosen, **arguments)

        monkeypatch.setattr(call, "spec_for", spec_for)
        broken, fine = ask(agent=agent), [ask(f"{n}") for n in range(3)]
        drained()
        assert outcome(broken) == ("failed", "internal")
        assert {outcome(run) for run in fine} == {("succeeded", "")}

    def test_a_stored_key_that_cannot_be_read_any_more_is_the_operators_to_mend(self, ask, drained):
        """R12: as a key that the provider refuses."""
        provider = factories.make_provider(key_encrypted="not a sealed key")
        run = ask(agent=factories.make_agent(model=factories.make_model(provider=provider)))
        drained()
        assert outcome(run) == ("failed", "provider_auth")

    def test_a_turn_whose_start_breaks(self, ask, drained, monkeypatch):
        """Started one by one after the batch was undone."""
        fine, broken, more = ask("one"), ask("two"), ask("three")
        monkeypatch.setattr(origin, "prompt_of", lambda run: 1 / (run.pk != broken.pk) and run.prompt)
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
