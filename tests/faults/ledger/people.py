"""What owners do: create, edit, pause, resume, leave out, delete, run by hand, stop."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from schedules.models import Run
from schedules.services.editing import schedule_edit
from schedules.services.runs import run_now, run_stop
from schedules.services.switching import schedule_delete, schedule_pause, schedule_resume, schedule_skip_next
from tests.faults.ledger.rules import NAMES, rule_named
from tests.faults.ledger.world import World

OWNERS = {"A": "alice", "B": "alice", "C": "bob", "D": "bob"}

FREQUENT = [name for name in NAMES if name.startswith(("every", "hourly", "cron */"))]

cadences = st.sampled_from(FREQUENT + NAMES)
slots = st.sampled_from(list(OWNERS))
overlaps = st.sampled_from(["skip", "queue_one", "replace", "allow"])
misfires = st.sampled_from(["miss", "run_once", "run_all"])
graces = st.sampled_from([0, 900, 14_400])
policies = st.fixed_dictionaries(
    {
        "cadence": cadences,
        "overlap": overlaps,
        "misfire": misfires,
        "grace": graces,
        "max_runs": st.sampled_from([None] * 8 + [2, 3]),
    }
)


class People(RuleBasedStateMachine):
    """Alice and Bob, each with two slots for a schedule."""

    world: World

    @rule(
        slot=slots, what=st.sampled_from(["pauses", "resumes", "skips the next of", "stops the newest of", "deletes"])
    )
    def the_owner(self, what: str, slot: str) -> None:
        acts = {
            "pauses": self.it_is_paused, "resumes": self.it_is_resumed, "skips the next of": self.its_next_is_skipped,
            "stops the newest of": self.its_newest_is_stopped, "deletes": self.it_is_deleted,
        }  # fmt: skip
        acts[what](slot)

    @rule(slot=slots, what=overlaps | st.tuples(misfires, graces) | st.just("prompt"))
    def the_owner_edits(self, slot: str, what: Any) -> None:
        if what == "prompt":
            self.the_prompt_is_edited(slot)
        elif isinstance(what, tuple):
            self.the_misfire_rule_is_edited(slot, *what)
        else:
            self.the_overlap_rule_is_edited(slot, what)

    @rule(slot=slots, chosen=policies)
    def a_new_one_is_created(self, slot: str, chosen: dict[str, Any]) -> None:
        world = self.world
        if slot in world.models:
            return
        world.allowed(lambda: world.create(slot, owner=OWNERS[slot], **chosen), *self._refused(slot))
        world.say(f"{slot} is created: {chosen}")
        world.compare()

    def the_overlap_rule_is_edited(self, slot: str, overlap: str) -> None:
        if self._edit(slot, overlap_policy=overlap):
            self.world.models[slot].overlap = overlap
        self.world.compare()

    def the_misfire_rule_is_edited(self, slot: str, misfire: str, grace: int) -> None:
        if self._edit(slot, misfire_policy=misfire, misfire_grace_seconds=grace):
            model = self.world.models[slot]
            model.misfire, model.grace = misfire, timedelta(seconds=grace)
        self.world.compare()

    def the_prompt_is_edited(self, slot: str) -> None:
        self.world.texts += 1
        self._edit(slot, prompt=f"Say good morning, number {self.world.texts}.")
        self.world.compare()

    @rule(slot=slots, cadence=cadences)
    def the_cadence_is_edited(self, slot: str, cadence: str) -> None:
        """C12: what was due gets its row under the old rule, the new one counts from now."""
        world = self.world
        if not world.there(slot):
            return
        new, model = rule_named(cadence, world.now), world.models[slot]
        was_on = model.on
        changed = self._edit(slot, cadence=new.wire, zone=new.zone)
        if changed:
            if was_on:
                world.expected[slot] = model.close(world.now, "edited")
            model.rule = new
            if model.completed and not model.nothing_left(world.now):
                model.completed = False
            if model.on:
                model.arm(world.now)
        world.compare()

    def _edit(self, slot: str, **body: Any) -> bool:
        """Edit, and return whether it changed anything."""
        world = self.world
        if not world.there(slot):
            return False
        before = world.row(slot)
        edited = world.allowed(lambda: schedule_edit(schedule=before, body=body, now=world.now), *self._refused(slot))
        world.say(f"{slot} is edited: {body}{'' if edited else ', refused'}")
        changed = edited and world.row(slot).revision != before.revision
        world.models[slot].revision += changed
        return changed

    def _refused(self, slot: str) -> list[str]:
        return [] if self.world.active[OWNERS[slot]] else ["owner_inactive"]

    def it_is_paused(self, slot: str) -> None:
        """R19: always allowed."""
        world = self.world
        if not world.there(slot):
            return
        model = world.models[slot]
        if model.enabled:
            world.expected[slot] = model.close(world.now, "paused") if model.on else []
            model.enabled, model.revision = False, model.revision + 1
        schedule_pause(schedule=world.row(slot), now=world.now)
        world.say(f"{slot} is paused")
        world.compare()

    def it_is_resumed(self, slot: str) -> None:
        world = self.world
        if not world.there(slot) or world.models[slot].on:
            return
        model = world.models[slot]
        codes = self._refused(slot) + (["cadence_never_fires"] if model.nothing_left(world.now) else [])
        done = world.allowed(lambda: schedule_resume(schedule=world.row(slot), now=world.now), *codes)
        assert done != bool(codes), f"{slot} was resumed against {codes}"
        world.say(f"{slot} is resumed{'' if done else ', refused'}")
        if done:
            model.enabled, model.blocked, model.completed = True, "", False
            model.streak, model.streak_through, model.revision = 0, None, model.revision + 1
            model.arm(world.now)
        world.compare()

    def its_next_is_skipped(self, slot: str) -> None:
        world = self.world
        if not world.there(slot) or world.models[slot].shown() is None:
            return
        model, at = world.models[slot], world.models[slot].shown()
        assert at is not None
        marked = model.skip_next is not None and model.skip_next > world.now
        codes = ["schedule_changed"] if marked else []
        done = world.allowed(
            lambda: schedule_skip_next(schedule=world.row(slot), scheduled_for=at, now=world.now), *codes
        )
        model.skip_next = at if done else model.skip_next
        world.say(f"{slot} leaves out {at:%d %H:%M}{'' if done else ', refused'}")
        world.compare()

    def it_is_deleted(self, slot: str) -> None:
        """R19: always allowed, and nothing of it is claimed any more."""
        world = self.world
        if not world.there(slot):
            return
        schedule_delete(schedule=world.row(slot), now=world.now)
        world.models[slot].deleting, world.models[slot].owed = True, []
        world.say(f"{slot} is deleted")
        world.compare()

    @rule(slot=slots, key=st.sampled_from(["k1", "k2", None]))
    def it_is_run_by_hand(self, slot: str, key: str | None) -> None:
        """R7: whatever its state; a key that was used answers with the same run."""
        world = self.world
        if not world.there(slot):
            return
        before, pk = world.seen, world.pk(slot)
        row_key = f"manual:{world.stored[slot].public_id}:{key}"
        again = next((run for run in before.of(pk) if run["idempotency_key"] == row_key), None)
        wanted = self._by_hand(slot, again)
        actor = world.owners[OWNERS[slot]]
        done = world.allowed(lambda: run_now(schedule=world.row(slot), actor=actor, now=world.now, key=key), *wanted[1])
        world.say(f"{slot} is run by hand under {key}{'' if done else ', refused'}")
        world.compare()
        new = [run for pk, run in world.seen.runs.items() if pk not in before.runs and run["kind"] == "manual"]
        assert [run["status"] for run in new] == wanted[0], f"R7: {[run['status'] for run in new]} is not {wanted[0]}"
        assert done != bool(wanted[1])

    def _by_hand(self, slot: str, again: dict[str, Any] | None) -> tuple[list[str], list[str]]:
        """Return the statuses of the rows that it opens, and the code that it is refused with."""
        world, model = self.world, self.world.models[slot]
        if again is not None:
            refused = again["turn_id"] is None
            return [], [again["reason"]] if refused else []
        if world.stopped:
            return [], ["stopped_by_operator"]
        if not world.active[model.owner]:
            return ["refused"], ["owner_inactive"]
        busy = len(world.seen.unfinished(world.pk(slot)))
        room = busy == 0 or model.overlap in ("allow", "replace") or (model.overlap == "queue_one" and busy == 1)
        return (["queued"], []) if room else ([], ["already_running"])

    def its_newest_is_stopped(self, slot: str) -> None:
        world = self.world
        if not world.there(slot):
            return
        busy = world.seen.unfinished(world.pk(slot))
        if not busy:
            return
        run = Run.objects.get(pk=busy[-1]["pk"])
        leased = world.seen.turn_of(busy[-1])["status"] == "running"
        stopped = run_stop(run=run, actor=world.owners[OWNERS[slot]], now=world.now)
        world.say(f"the newest run of {slot} is stopped: {stopped.status}")
        assert stopped.status == (busy[-1]["status"] if leased else "stopped")
        world.compare()
