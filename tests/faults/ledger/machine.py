"""The game: time, clocks and operators; what workers and owners do beside them stands in `workers` and `people`.

A move that makes no sense now (to settle when nothing runs) does nothing; one that the rules refuse is seen refused.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from accounts.models import User
from accounts.services.stops import global_stop_set
from tests.faults.ledger.people import OWNERS, People, policies, slots
from tests.faults.ledger.workers import ENDS, Workers
from tests.support.engine import fire

SPANS = {
    "20 seconds": 20, "17 minutes": 1020, "61 seconds": 61, "5 minutes": 300, "1 hour": 3600, "3 hours": 10_800,
    "11 hours": 39_600,
}  # fmt: skip
OPERATORS = ["stop off", "alice active", "bob active", "stop off", "stop on", "alice inactive", "bob inactive"]

spans = st.sampled_from(["17 minutes", "1 hour", *SPANS])


class LedgerMachine(Workers, People):
    """One game. `world` is made anew for each, inside a transaction that is undone."""

    @initialize(
        schedules=st.dictionaries(slots, policies, min_size=2) | st.fixed_dictionaries(dict.fromkeys(OWNERS, policies))
    )
    def begin(self, schedules: dict[str, Any]) -> None:
        for slot, chosen in schedules.items():
            self.world.create(slot, owner=OWNERS[slot], **chosen)
        self.world.compare()

    @rule(span=spans, clocks=st.sampled_from([1, 0, 2]), then=st.sampled_from([*ENDS, "nobody works"]))
    def time_passes(self, span: str, clocks: int, then: str) -> None:
        """The usual course of things: time, a tick or two, and workers whose calls end."""
        self.world.pass_time(timedelta(seconds=SPANS[span]))
        self.world.say("is the time")
        for _ in range(clocks):
            self.tick()
        if then != "nobody works":
            self.the_queue_is_worked(then)

    def tick(self) -> None:
        world = self.world
        if not world.stopped:
            for slot, model in world.models.items():
                if model.owed and model.on:
                    self._expect_look(slot)
        queued = fire(world.now)
        world.say(f"a clock ticks: {queued} queued")
        world.compare()

    def _expect_look(self, slot: str) -> None:
        world, model = self.world, self.world.models[slot]
        busy = world.seen.unfinished(world.pk(slot))
        active = world.active[model.owner]
        freed = 0
        if model.replaces(world.now, unfinished=len(busy), active=active):
            free = [run for run in busy if run["started_at"] is None and world.seen.turn_of(run)["status"] == "queued"]
            freed = sum(run["kind"] == "scheduled" for run in free)
        world.expected[slot] = model.look(world.now, unfinished=len(busy), active=active, freed=freed)

    def the_operator_switches_the_global_stop(self, on: bool) -> None:
        world = self.world
        global_stop_set(on=on, now=world.now)
        if world.stopped and not on:
            world.lifted_at = world.now
        world.stopped = on
        world.say(f"the global stop is {'on' if on else 'off'}")
        world.compare()

    def an_owner_is_made(self, owner: str, active: bool) -> None:
        world = self.world
        User.objects.filter(pk=world.owners[owner].pk).update(is_active=active)
        world.active[owner] = active
        world.say(f"{owner} is {'active' if active else 'inactive'}")
        world.compare()

    @rule(what=st.sampled_from(OPERATORS))
    def an_operator_says(self, what: str) -> None:
        who, state = what.split()
        if who == "stop":
            self.the_operator_switches_the_global_stop(state == "on")
        else:
            self.an_owner_is_made(who, state == "active")
