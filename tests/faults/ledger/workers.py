"""What workers do and suffer: they claim, start, call, end, die, and are healed."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from chats.models import Turn
from chats.services.turns_lease import leases_renew
from chats.services.turns_recover import leases_recover
from schedules.services.reconcile import reconcile
from tests.faults.ledger.model import LATE
from tests.faults.ledger.reading import check_claim
from tests.faults.ledger.world import World
from tests.support.engine import claim, ended, failed, settle, turns_dispatch, turns_start

ENDS = ["answered", "failed", "failed, may be repeated", "answered", "timed out", "empty", "stream broken"]


class Workers(RuleBasedStateMachine):
    """One worker, which may die and come back; its works and leases are what it believes to hold."""

    world: World

    @rule(what=st.sampled_from(["claims one", "claims all", "starts", "calls", "dies", "lives on"]))
    def a_worker(self, what: str) -> None:
        """One step of a drain alone, so that anything may come between it and the next."""
        acts = {
            "claims one": lambda: self.a_worker_claims(1), "claims all": lambda: self.a_worker_claims(25),
            "starts": self.it_starts_what_it_claimed, "calls": self.it_calls_the_models, "dies": self.the_worker_dies,
            "lives on": self.its_heart_beats,
        }  # fmt: skip
        acts[what]()

    def the_queue_is_worked(self, how: str) -> None:
        """What may run runs at once, and all of it ends alike."""
        self.a_worker_claims_starts_and_calls(25)
        for _ in range(len(self.world.works)):
            self.a_call_ends(0, how)

    def a_worker_claims(self, most: int) -> None:
        world = self.world
        before = world.seen
        claimed = claim(world.now, most=most)
        world.leased += claimed
        world.say(f"leased: {[self.world.slot_of(turn) for turn in claimed]}")
        world.compare()
        check_claim(before, world.seen, most=0 if world.stopped else most, now=world.now)

    def it_starts_what_it_claimed(self) -> None:
        world = self.world
        turns, world.leased = world.leased, []
        may = {turn.pk: self._may_start(turn) for turn in turns}
        works = turns_start(turns=turns, now=world.now)
        world.works += works
        world.say(f"started: {[self.world.slot_of(work.turn) for work in works]}")
        started = {work.turn.pk for work in works}
        for turn in turns:
            assert (turn.pk in started) <= may[turn.pk], f"{self.world.slot_of(turn)} was started and must not"
        world.compare()

    def _may_start(self, turn: Turn) -> bool:
        """Return whether the gate lets it start: its lease is ours, nobody asked it to stop, nothing waits (R4, R16)."""
        world, now = self.world, self.world.turn(turn)
        if now is None or now["status"] != "running" or now["fence"] != turn.fence or now["stop_requested_at"]:
            return False
        run = next(run for run in world.seen.runs.values() if run["turn_id"] == turn.pk)
        model = next((m for slot, m in world.models.items() if world.pk(slot) == run["schedule_id"]), None)
        if world.stopped or model is None or model.deleting or not world.active[model.owner]:
            return False
        if run["kind"] == "scheduled" and (not model.enabled or model.blocked):
            return False
        waited = world.lifted_at is not None and now["queued_at"] < world.lifted_at and run["started_at"] is None
        if waited and run["kind"] == "scheduled" and model.misfire == "miss":
            return bool(world.lifted_at <= run["due_at"] + max(model.grace, LATE))  # type: ignore[operator]  # R38
        return True

    def it_calls_the_models(self) -> None:
        world = self.world
        waiting = [work for work in world.works if (work.turn.pk, work.fence) not in world.calls]
        mine = turns_dispatch(works=waiting, now=world.now)
        world.calls |= {(work.turn.pk, work.fence) for work in mine}
        world.works = [work for work in world.works if (work.turn.pk, work.fence) in world.calls]
        world.say(f"called: {[self.world.slot_of(work.turn) for work in mine]}")
        world.compare()

    @rule(most=st.sampled_from([1, 25]))
    def a_worker_claims_starts_and_calls(self, most: int) -> None:
        self.a_worker_claims(most)
        self.it_starts_what_it_claimed()
        self.it_calls_the_models()

    @rule(number=st.integers(0, 3), how=st.sampled_from(ENDS))
    def a_call_ends(self, number: int, how: str) -> None:
        """R4: one whose lease was lost writes nothing, whatever it brings."""
        world = self.world
        called = [work for work in world.works if (work.turn.pk, work.fence) in world.calls]
        if not called:
            return
        work = called[number % len(called)]
        world.works.remove(work)
        now = world.turn(work.turn)
        ours = now is not None and now["status"] == "running" and now["fence"] == work.fence
        done = settle(_end(work, how), now=world.now)
        world.say(f"{self.world.slot_of(work.turn)} {how}: {'settled' if done else 'its lease was lost'}")
        assert bool(done) == ours, f"R4: {how} of a lease that is{'' if ours else ' not'} ours settled {done}"
        before = world.seen
        world.compare()
        if ours:
            self._check_end(work, how, stopping=bool(now and now["stop_requested_at"]))
        else:
            assert before == world.seen, "R4: a stale lease changed something"

    def _check_end(self, work: Any, how: str, *, stopping: bool) -> None:
        run = next(run for run in self.world.seen.runs.values() if run["turn_id"] == work.turn.pk)
        wanted = {
            "answered": {"succeeded"}, "empty": {"empty"}, "failed": {"failed"}, "timed out": {"timed_out"},
            "stream broken": {"failed"}, "failed, may be repeated": {"queued", "failed"},
        }[how]  # fmt: skip
        wanted = {"stopped"} if stopping and how in ("failed", "stream broken", "failed, may be repeated") else wanted
        assert run["status"] in wanted, f"{how} became {run['status']}: {run['reason']}"

    def the_worker_dies(self) -> None:
        self.world.leased, self.world.works = [], []
        self.world.say("the worker is killed")

    def its_heart_beats(self) -> None:
        world = self.world
        live = [turn.pk for turn in world.leased] + [work.turn.pk for work in world.works]
        leases_renew(worker="host/1/a", turn_ids=live, now=world.now)
        world.compare()

    @rule()
    def recovery_looks(self) -> None:
        """One dead lease at a time, so that the order in which they settle is known; then everything else."""
        world = self.world
        for _ in range(10):
            healed = leases_recover(now=world.now, most=1)
            world.compare()
            if not healed:
                break
        reconcile(now=world.now)
        world.say("recovery has looked")
        world.compare()
        dead = [t for t in world.seen.turns.values() if t["status"] == "running" and t["lease_expires_at"] < world.now]
        assert not dead, f"R40: {len(dead)} leases are over and nobody healed them"
        going = [slot for slot, model in world.models.items() if model.deleting]
        assert not [slot for slot in going if not world.seen.unfinished(world.pk(slot))], "a deleted one is not erased"


def _end(work: Any, how: str) -> Any:
    if how == "answered":
        return ended(work)
    if how == "empty":
        return ended(work, text="  ")
    if how == "timed out":
        return ended(work, "timed_out", text="Half", code="deadline")
    if how == "stream broken":
        return failed(work, "stream_broken", retryable=False, certainty="ambiguous", text="Half")
    return failed(work, retryable=how == "failed, may be repeated")
