"""The owner's acts meet the clock and a settle in the middle: on PostgreSQL one waits for the other, none dies (R3, R19).

Each pair is led to the point where one holds what the other wants next; a cycle of waits ends in a deadlock error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F

from accounts.models import User
from chats.models import Turn
from chats.services import turns_settle as settling
from chats.services import turns_start as starting
from schedules import lifecycle
from schedules.models import Run, Schedule
from schedules.services import firing
from schedules.services.editing import schedule_delete, schedule_edit, schedule_pause
from tests import factories
from tests.support.engine import NOW, SECOND, at_once, begin, claim, due_schedule, ended, failed, queued_run, settle

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
LATER = NOW + SECOND
HOLD = 0.4  # the act is given this long to take what it can while the other side holds its rows

Act = Callable[[Schedule], Any]
ACTS: dict[str, Act] = {
    "edit": lambda schedule: schedule_edit(schedule=schedule, body={"name": "New"}, now=LATER),
    "switch off": lambda schedule: schedule_edit(schedule=schedule, body={"enabled": False}, now=LATER),
    "pause": lambda schedule: schedule_pause(schedule=schedule, now=LATER),
    "delete": lambda schedule: schedule_delete(schedule=schedule, now=LATER),
}


@pytest.fixture
def owner(transactional_db: None) -> User:
    return factories.make_user("alice@example.com")


class Held:
    """Lets the act begin when the other side has taken its rows, and keeps that side there for a moment."""

    def __init__(self) -> None:
        self.taken, self.done = threading.Event(), threading.Event()

    def after(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def taking(*args: Any, **kwargs: Any) -> Any:
            rows = real(*args, **kwargs)
            if not self.taken.is_set():
                self.taken.set()
                self.done.wait(HOLD)
            return rows

        return taking

    def meanwhile(self, act: Callable[[], Any]) -> Callable[[], Any]:
        def acting() -> Any:
            assert self.taken.wait(10)
            try:
                return act()
            finally:
                self.done.set()

        return acting


@pytest.mark.parametrize("act", ACTS)
def test_an_owners_act_and_the_clock(act: str, monkeypatch: pytest.MonkeyPatch, owner: User):
    schedule, held = due_schedule(owner), Held()
    monkeypatch.setattr(firing, "_claim", held.after(firing._claim))
    errors: list[str] = []
    monkeypatch.setattr(firing.logger, "exception", lambda text, *args: errors.append(text % args))
    fired, _ = at_once([lambda: firing.fire_due(now=NOW), held.meanwhile(lambda: ACTS[act](schedule))])
    assert errors == []
    assert fired.queued == 1


@pytest.mark.parametrize("point", ["turns", "schedules"])
@pytest.mark.parametrize("act", ACTS)
def test_an_owners_act_and_a_settle_that_blocks_and_tells(
    act: str, point: str, monkeypatch: pytest.MonkeyPatch, owner: User
):
    """The notice's foreign key reads the owner's row, which the act has locked."""
    run = queued_run(owner, retry_window_seconds=0, failure_streak=4)
    [work] = begin()
    held = Held()
    if point == "turns":
        monkeypatch.setattr(settling, "_held", held.after(settling._held))
    else:
        monkeypatch.setattr(lifecycle, "settle_many", held.after(lifecycle.settle_many))
    settled, _ = at_once(
        [
            lambda: settle(failed(work, retryable=False), now=LATER),
            held.meanwhile(lambda: ACTS[act](run.schedule)),
        ]
    )
    assert settled == {work.turn.pk}
    assert act == "delete" or Run.objects.get().status == "failed"


@pytest.mark.parametrize("act", ACTS)
def test_an_owners_act_and_a_start_that_is_refused(act: str, monkeypatch: pytest.MonkeyPatch, owner: User):
    """The refusal settles the run; the act cancels or refreshes what waits: both want turn and schedule."""
    run, held = queued_run(owner), Held()
    Turn.objects.update(leased_seconds=F("deadline_seconds"))
    leased = claim()
    monkeypatch.setattr(starting, "_still_held", held.after(starting._still_held))
    works, _ = at_once(
        [lambda: starting.turns_start(turns=leased, now=LATER), held.meanwhile(lambda: ACTS[act](run.schedule))]
    )
    assert works == []
    assert act == "delete" or Run.objects.get().status == "timed_out"


def test_a_settle_and_the_clock(monkeypatch: pytest.MonkeyPatch, owner: User):
    """The clock leaves out what a settle holds, and the settle waits for what the clock holds."""
    run = queued_run(owner, overlap_policy="replace", notify={"on": "always", "channels": []})
    [work] = begin()
    Schedule.objects.update(next_run_at=NOW, planned_through=NOW - SECOND)
    Run.objects.filter(pk=run.pk).update(scheduled_for=NOW - 60 * SECOND)
    held = Held()
    monkeypatch.setattr(firing, "_claim", held.after(firing._claim))
    _, settled = at_once([lambda: firing.fire_due(now=LATER), held.meanwhile(lambda: settle(ended(work), now=LATER))])
    assert settled == {work.turn.pk}
