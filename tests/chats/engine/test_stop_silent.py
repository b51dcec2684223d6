"""A stop reaches a call whose provider has fallen silent: its text is kept, its connection closed."""

import pytest

from chats.engine import drain as module
from chats.models import Message
from chats.services.turns_stop import turn_stop
from core import clock
from tests.chats.engine.conftest import outcome, written
from tests.fakes.provider import answer_text
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
SHIPPED_LOOK = 0.5


def test_a_silent_stream_is_stopped_within_two_seconds_with_all_that_was_flushed(ask, draining, fake, monkeypatch):
    """R39: five pieces, then nothing for as long as anybody listens; looked for stops as often as shipped."""
    monkeypatch.setattr(module, "STOP_LOOK", SHIPPED_LOOK)
    run = ask("[[stall-5]] What is new?")
    draining()
    sent = answer_text(run.prompt, 5)
    wait_until(lambda: written(run) == sent)
    pressed = clock.monotonic()
    turn_stop(turn_id=run.turn_id, reason="stopped_by_owner", now=clock.now())
    wait_until(lambda: outcome(run)[0] == "stopped", seconds=5)
    assert clock.monotonic() - pressed < 2
    assert outcome(run) == ("stopped", "stopped_by_owner")
    assert (written(run), Message.objects.get(role="assistant").state) == (sent, "partial")
    assert fake.outcome(1, within=2)["outcome"] == "aborted"
