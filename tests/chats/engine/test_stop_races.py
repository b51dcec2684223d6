"""Stop races finish: exactly one wins, and the text is whole in both, however close they come (R2, R3, R4)."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agents.runtime import transport
from chats.engine import drain as module
from chats.models import Message, Turn, TurnAttempt
from chats.services.turns_settle import Ended
from chats.services.turns_stop import turn_stop
from core import clock, points
from schedules.models import Run, Schedule
from tests.fakes.provider import FakeProvider, answer_text
from tests.support.engine import due_schedule, everything, fire
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
RACES, AT_ONCE, LEAST = 200, 40, 20  # fewer at once than are read more rarely
SWEEP = 0.05
PIECES, APART = 5, 0.2
FIRST, STAGGER = 0.6, 0.02
# Often, so that the sweep decides who wins and not the look: with the shipped half second ten times the sweep, a stop
# asked that close to the end would nearly always lose.
OFTEN = 0.01


@dataclass
class Race:
    """One turn whose provider ends at a known moment, and a stop asked `delay` seconds after that moment."""

    run: Run
    wait: float
    delay: float
    ends_at: float = 0.0
    asked_at: float = 0.0
    heard: bool = False

    @property
    def pressed_at(self) -> float:
        return self.ends_at + self.delay

    def press(self) -> None:
        """Ask as API, panel and admin do."""
        self.asked_at = time.time()
        self.heard = stop(self.run)


class Seen:
    """What the drain passed: every ending it meant to write, and the last text it had flushed."""

    def __init__(self) -> None:
        self.endings: dict[int, list[Ended]] = defaultdict(list)
        self.flushed: dict[int, str] = {}
        self.noticed_at: dict[int, float] = {}

    def __call__(self, label: str, about: Sequence[Any]) -> None:
        if label == "settling":
            for end in about:
                self.endings[end.turn_id].append(end)
        elif label == "flushed":
            self.flushed.update({message_id: text for message_id, _, text in about})
        elif label == "stopping":
            for turn_id in about:
                self.noticed_at.setdefault(turn_id, time.time())


@pytest.fixture
def seen() -> Iterator[Seen]:
    watcher = Seen()
    points.watch(watcher)
    yield watcher
    points.watch(None)


def stop(run: Run) -> bool:
    assert run.turn_id is not None
    return turn_stop(turn_id=run.turn_id, reason="stopped_by_owner", now=clock.now())


def queue(owner: Any, agent: Any, delays: Sequence[float]) -> list[Race]:
    """Queue one run of a schedule of its own per delay; their streams end one after the other."""
    races = {}
    for place, delay in enumerate(delays):
        wait = FIRST + place * STAGGER
        prompt = f"[[slow-{wait:.2f}+stream-{PIECES}x{APART * 1000:.0f}ms]] Race at {delay * 1000:+.2f} ms"
        races[due_schedule(owner, agent=agent, prompt=prompt, retry_window_seconds=0).pk] = (wait, delay)
    fire()
    runs = Run.objects.filter(schedule__in=races).order_by("schedule_id")
    return [Race(run, *races[run.schedule_id]) for run in runs]


def learn_ends(races: Sequence[Race], fake: FakeProvider) -> None:
    """Wait until the provider has every request: from then on the moment at which it ends each is known."""
    by_prompt = {race.run.prompt: race for race in races}
    started = wait_until(
        lambda: (
            len(found := [entry for entry in fake.requests() if entry["prompt"] in by_prompt]) >= len(races) and found
        )
    )
    for entry in started:
        race = by_prompt[entry["prompt"]]
        race.ends_at = entry["at"] + race.wait + (PIECES - 1) * APART


def press_all(races: Sequence[Race]) -> None:
    """Ask for each stop at its moment; the sleep is the sweep."""
    for race in sorted(races, key=lambda race: race.pressed_at):
        time.sleep(max(race.pressed_at - time.time(), 0))
        race.press()


def whole(prompt: str, most: int = PIECES) -> list[str]:
    """Return the texts that end where a piece ends, up to `most` pieces."""
    return [answer_text(prompt, number) for number in range(1, most + 1)]


def check(race: Race, seen: Seen, log: Sequence[dict[str, Any]]) -> str:
    """Check everything that one race leaves behind and return who won."""
    turn, run = Turn.objects.get(pk=race.run.turn_id), Run.objects.get(pk=race.run.pk)
    [ending] = seen.endings[turn.pk]
    [attempt] = TurnAttempt.objects.filter(turn=turn)
    assert (attempt.outcome, turn.leased_by, turn.lease_expires_at) == (ending.how, "", None)
    [request] = [entry for entry in log if entry["event"] == "start" and entry["prompt"] == run.prompt]
    [sent] = [entry for entry in log if entry["event"] == "end" and entry["id"] == request["id"]]
    [answer] = Message.objects.filter(conversation=turn.conversation_id, role="assistant")
    assert answer.text.startswith(seen.flushed.get(answer.pk, ""))
    assert (turn.stop_requested_at is not None) == race.heard, "a stop that was heard is noted, any other is not"
    counted = Schedule.objects.values_list("succeeded_count", "reached_count", "failure_streak").get(pk=run.schedule_id)
    if run.status == "stopped":
        assert (turn.status, turn.error_code, run.reason) == ("stopped", "stopped_by_owner", "stopped_by_owner")
        assert (race.heard, ending.how, answer.state, counted) == (True, "stopped", "partial", (0, 1, 0))
        assert answer.text in whole(run.prompt, sent["chunks"])
    else:
        assert (run.status, run.reason, turn.status, turn.error_code) == ("succeeded", "", "completed", "")
        assert (ending.how, answer.state, counted) == ("answered", "complete", (1, 1, 0))
        assert (answer.text, sent["outcome"]) == (answer_text(run.prompt, PIECES), "finished")
    return run.status


def ended(fake: FakeProvider, number: int) -> list[dict[str, Any]]:
    """Return the provider's log once it has seen the end of `number` requests."""
    return fake.wait_for(lambda: (log := fake.log()) and sum(e["event"] == "end" for e in log) == number and log)


def test_two_hundred_stops_swept_over_a_tenth_of_a_second_have_one_winner_each(
    owner: Any,
    agent: Any,
    fake: FakeProvider,
    draining: Callable[..., Any],
    seen: Seen,
    monkeypatch: Any,
    settings: Any,
) -> None:
    """Forty at a time in one drain, each asked from 50 ms before its stream's end to 50 ms after it."""
    monkeypatch.setattr(module, "STOP_LOOK", OFTEN)
    monkeypatch.setattr(transport.Pace, "seconds", lambda _: 0.0)  # the end is read when it is sent
    sweep = [SWEEP * (2 * number / (RACES - 1) - 1) for number in range(RACES)]
    races: list[Race] = []
    for batch in range(RACES // AT_ONCE):
        races += (running := queue(owner, agent, sweep[batch :: RACES // AT_ONCE]))
        started = draining()
        learn_ends(running, fake)
        press_all(running)
        started.end()
    log = ended(fake, RACES)
    winners = Counter(check(race, seen, log) for race in races)
    assert set(winners) == {"succeeded", "stopped"}
    assert min(winners.values()) >= LEAST, winners

    before = everything()
    assert not any(stop(race.run) for race in races), "a second stop is a no-op"
    assert everything() == before
