"""The product beside the model: every act is done to both, and then rows, counters and marks are compared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from hypothesis import note

from accounts.models import User
from chats.models import Turn
from chats.services.turns_start import Work
from core.errors import Refusal
from schedules.models import Schedule as Stored
from schedules.services.editing import schedule_create
from tests.factories import NOW
from tests.faults.ledger.model import OPEN, Row, Schedule
from tests.faults.ledger.reading import Reading, check_capacity, check_final, check_once, check_rows
from tests.faults.ledger.rules import rule_named

MOST_FAILURES = 2


class World:
    """Two owners, their schedules in slots, one worker, and the time."""

    def __init__(self, owners: dict[str, User], agent: str) -> None:
        self.now, self.agent, self.owners = NOW, agent, owners
        self.models: dict[str, Schedule] = {}
        self.stored: dict[str, Stored] = {}
        self.leased: list[Turn] = []
        self.works: list[Work] = []
        self.calls: set[tuple[int, int]] = set()  # (turn, fence) of every model call that left
        self.active = dict.fromkeys(owners, True)
        self.stopped = False
        self.lifted_at: datetime | None = None
        self.seen = Reading.now()
        self.expected: dict[str, list[Row]] = {}
        self.texts = 0

    def pass_time(self, span: timedelta) -> None:
        self.now += span
        for model in self.models.values():
            model.pass_time(self.now)

    def create(self, slot: str, *, owner: str, cadence: str, **policies: Any) -> None:
        rule = rule_named(cadence, self.now)
        body = {
            "name": slot, "prompt": "Say good morning.", "agent": self.agent, "cadence": rule.wire, "zone": rule.zone,
            "overlap_policy": policies["overlap"], "misfire_policy": policies["misfire"],
            "misfire_grace_seconds": policies["grace"], "max_runs": policies["max_runs"],
        }  # fmt: skip
        self.stored[slot], _ = schedule_create(owner=self.owners[owner], body=body, now=self.now)
        grace = timedelta(seconds=policies.pop("grace"))
        self.models[slot] = Schedule(slot, owner, rule, seen=self.now, grace=grace, **policies)

    def row(self, slot: str) -> Stored:
        return Stored.objects.get(pk=self.stored[slot].pk)

    def there(self, slot: str) -> bool:
        return slot in self.models and not self.models[slot].deleting

    def pk(self, slot: str) -> int:
        return int(self.stored[slot].pk)

    def allowed(self, act: Callable[[], Any], *codes: str) -> bool:
        """Do what may be refused, and return whether it was done; any other refusal than one of `codes` is raised."""
        try:
            act()
        except Refusal as refusal:
            found = {refusal.code, *(error.code for error in refusal.fields)} - {"invalid", "validation_failed"}
            assert found & set(codes), f"refused as {sorted(found)}, which only {codes or 'nothing'} could be"
            return False
        return True

    def turn(self, turn: Turn) -> dict[str, Any] | None:
        """Return the turn's row as it was after the last act; None when it went with its schedule."""
        return self.seen.turns.get(turn.pk)

    def slot_of(self, turn: Turn) -> str:
        run = next((run for run in self.seen.runs.values() if run["turn_id"] == turn.pk), None)
        pk = run["schedule_id"] if run else None
        return next((slot for slot in self.models if self.pk(slot) == pk), "?")

    # After every act

    def compare(self) -> None:
        """Take up what ended, then compare: new rows, terminal rows, capacity, counters, marks."""
        before, after = self.seen, Reading.now()
        self._forget(after)
        check_final(before, after)
        check_rows(after)
        check_once(after)
        check_capacity(after)
        self._take_up_ends(before, after)
        self._compare_new(before, after)
        for slot in self.models:
            self._compare_schedule(slot, after)
        self.seen, self.expected = after, {}

    def _forget(self, after: Reading) -> None:
        for slot in [slot for slot, model in self.models.items() if self.pk(slot) not in after.schedules]:
            assert self.models[slot].deleting, f"{slot} is gone"
            del self.models[slot], self.stored[slot]

    def _take_up_ends(self, before: Reading, after: Reading) -> None:
        """Settle in the model what settled in the product, in the order of occurrences (R10)."""
        slots = {self.pk(slot): slot for slot in self.models}
        ends = [
            run for pk, run in after.runs.items()
            if run["status"] not in OPEN and before.runs.get(pk, {}).get("status") in OPEN and run["schedule_id"] in slots
        ]  # fmt: skip
        for run in sorted(ends, key=lambda run: (run["scheduled_for"], run["pk"])):
            slot, called = slots[run["schedule_id"]], run["turn_id"] in {turn for turn, _ in self.calls}
            assert (run["attempts"] > 0) == called, f"attempts of {run}"
            self._settled(slot, run, called)

    def _settled(self, slot: str, run: dict[str, Any], called: bool) -> None:
        model = self.models[slot]
        grew = model.settled(
            status=run["status"], reason=run["reason"], at=run["scheduled_for"], revision=run["revision"],
            called=called, scheduled=run["kind"] == "scheduled",
        )  # fmt: skip
        if grew and model.streak >= MOST_FAILURES and model.on:
            self.expected.setdefault(slot, []).extend(model.close(self.now, "blocked"))
            model.blocked = "too_many_failures"
        if model.max_runs is not None and model.completed and model.reached < model.max_runs and not model.deleting:
            model.arm(self.now)

    def _compare_new(self, before: Reading, after: Reading) -> None:
        """R5: the rows that an act wrote are those, and only those, that were owed."""
        for slot in self.models:
            new = [
                run for run in after.of(self.pk(slot)) if run["pk"] not in before.runs and run["kind"] == "scheduled"
            ]
            rows = [
                (
                    run["status"] if run["turn_id"] is None else "queued", "" if run["turn_id"] else run["reason"],
                    run["scheduled_for"], run["missed_until"] if run["missed_count"] != 0 else None, run["missed_count"],
                )
                for run in new
            ]  # fmt: skip
            wanted = sorted(self.expected.get(slot, []), key=lambda row: row[2])
            found = sorted(rows, key=lambda row: row[2])
            assert found == wanted, f"R5: {slot} has {_words(found)}; owed is {_words(wanted)}"

    def _compare_schedule(self, slot: str, after: Reading) -> None:
        row, model = after.schedules[self.pk(slot)], self.models[slot]
        runs = after.of(self.pk(slot))
        if model.deleting:
            assert row["next_run_at"] is None, f"{slot} is being deleted, and armed"
            return
        assert row["succeeded_count"] == sum(run["status"] == "succeeded" for run in runs), f"R3: {slot}"
        reached = [r for r in runs if r["kind"] == "scheduled" and (r["status"] in OPEN or r["attempts"] > 0)]
        assert row["reached_count"] == len(reached), f"R10: {slot} counts {row['reached_count']} of {len(reached)}"
        assert model.reached == len(reached), f"{slot}: the model counts {model.reached}"
        assert (row["failure_streak"], row["revision"]) == (model.streak, model.revision), f"R10, R11: {slot}"
        state = (row["enabled"], row["blocked_reason"], row["completed_at"] is not None)
        assert state == (model.enabled, model.blocked, model.completed), f"{slot} is {state}"
        assert row["next_run_at"] == model.next(), f"R6: {slot} is looked at {row['next_run_at']}, not {model.next()}"
        assert row["next_occurrence_at"] == model.shown(), f"C13: {slot} shows {row['next_occurrence_at']}"
        shown = [run for run in runs if run["status"] != "queued"]
        newest = max(shown, key=lambda run: (run["scheduled_for"], run["pk"]), default={"pk": None})
        assert row["last_run_id"] == newest["pk"], f"R3: the card of {slot}"

    def say(self, text: str) -> None:
        """Note a step for the story of a failure."""
        note(f"    {self.now:%a %H:%M:%S}  {text}")


def _words(rows: list[Row]) -> str:
    return (
        "; ".join(f"{at:%d %H:%M} {status} {reason} {count or ''}".strip() for status, reason, at, _, count in rows)
        or "nothing"
    )
