"""How a drain ends: shutdown with and without patience, and the hand-over to its successor (R26, R30)."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from chats.engine import drain as module
from chats.models import WorkerHost
from chats.services.turns_stop import turn_stop
from core import clock
from tests import factories
from tests.chats.engine.conftest import outcome, turn_of, written
from tests.fakes.provider import answer_text
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "[[stream-400x25ms]] Tell me a long story."


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
        real, failures = module.successor_leases, [OperationalError("away")] * 2

        def away(**arguments):
            if failures:
                raise failures.pop()
            return real(**arguments)

        monkeypatch.setattr(module, "successor_leases", away)
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
