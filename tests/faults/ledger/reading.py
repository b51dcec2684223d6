"""What the database holds at one instant, read once per step, and what must hold of it whatever was done."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chats.models import Turn
from schedules.models import Run, Schedule
from tests.faults.ledger.model import OPEN

PER_DEPLOYMENT, PER_OWNER = 3, 2

_TOGETHER = {
    "queued": {"queued"},
    "running": {"running", "queued"},  # leased, and not started yet under this lease
    "completed": {"succeeded", "empty"},
    "failed": {"failed", "timed_out", "interrupted"},
    "stopped": {"stopped"},
    "cancelled": {"skipped", "refused", "missed", "cancelled"},
}
_COLUMNS = (
    "pk", "schedule_id", "kind", "scheduled_for", "missed_until", "missed_count", "status", "reason", "settled_at",
    "started_at", "due_at", "attempts", "overlap_policy", "revision", "turn_id", "idempotency_key",
)  # fmt: skip


@dataclass
class Reading:
    """Rows by their keys: runs, turns and schedules."""

    runs: dict[int, dict[str, Any]]
    turns: dict[int, dict[str, Any]]
    schedules: dict[int, dict[str, Any]]

    @classmethod
    def now(cls) -> Reading:
        runs = {row["pk"]: row for row in Run.objects.order_by("pk").values(*_COLUMNS)}
        turns = {row["id"]: row for row in Turn.objects.order_by("pk").values()}
        schedules = {row["id"]: row for row in Schedule.objects.values()}
        return cls(runs, turns, schedules)

    def of(self, schedule: int) -> list[dict[str, Any]]:
        return [run for run in self.runs.values() if run["schedule_id"] == schedule]

    def unfinished(self, schedule: int) -> list[dict[str, Any]]:
        return [run for run in self.of(schedule) if run["status"] in OPEN]

    def turn_of(self, run: dict[str, Any]) -> dict[str, Any]:
        return self.turns[run["turn_id"]]

    def running(self) -> Counter[int]:
        """Return how many turns each owner has leased."""
        return Counter(turn["owner_id"] for turn in self.turns.values() if turn["status"] == "running")

    def claimable(self, now: datetime) -> Counter[int]:
        """Return how many turns each owner could lease: their time has come, and they head their series (R25)."""
        return Counter(
            turn["owner_id"]
            for turn in self.turns.values()
            if turn["status"] == "queued" and turn["not_before"] <= now and self._heads(turn)
        )

    def _heads(self, turn: dict[str, Any]) -> bool:
        if turn["series"] is None:
            return True
        others = [t for t in self.turns.values() if t["series"] == turn["series"] and t["id"] != turn["id"]]
        mine = turn["series_order"], turn["id"]
        return not any(
            t["status"] == "running" or (t["status"] == "queued" and (t["series_order"], t["id"]) < mine)
            for t in others
        )


def check_rows(found: Reading) -> None:
    """What holds of every row by itself."""
    for run in found.runs.values():
        settled = run["settled_at"] is not None
        assert settled == (run["status"] not in OPEN), f"settled_at of {run}"
        if run["turn_id"] is None:
            assert run["status"] in {"missed", "skipped", "refused", "cancelled"}, f"no turn: {run}"
        else:
            turn = found.turn_of(run)
            assert run["status"] in _TOGETHER[turn["status"]], f"run {run['status']}, turn {turn['status']}"
            assert (turn["settled_at"] is not None) == settled, "turn and run settle together"
            assert (turn["lease_expires_at"] is not None) == (turn["status"] == "running"), "R25: only a lease holds"


def check_once(found: Reading) -> None:
    """R1, R5: no occurrence has two rows, also not one inside a missed window."""
    for schedule in found.schedules:
        scheduled = [run for run in found.of(schedule) if run["kind"] == "scheduled"]
        last = None
        for run in sorted(scheduled, key=lambda run: run["scheduled_for"]):
            assert last is None or run["scheduled_for"] > last, f"R1: {run['scheduled_for']} is covered twice"
            last = run["missed_until"] or run["scheduled_for"]


def check_capacity(found: Reading) -> None:
    """R24; and at most one running run per schedule, unless it was opened under `allow`."""
    running = found.running()
    assert sum(running.values()) <= PER_DEPLOYMENT, f"R24: {running}"
    assert all(count <= PER_OWNER for count in running.values()), f"R24: {running}"
    for schedule in found.schedules:
        alone = [run for run in found.of(schedule) if run["status"] == "running" and run["overlap_policy"] != "allow"]
        assert len(alone) <= 1, f"two of one schedule run at once: {alone}"


def check_final(before: Reading, after: Reading) -> None:
    """R2: what had ended stays as it was; a row goes only with its schedule."""
    for pk, run in before.runs.items():
        if run["status"] not in OPEN and run["schedule_id"] in after.schedules:
            assert after.runs.get(pk) == run, f"R2: {run} became {after.runs.get(pk)}"


def check_claim(before: Reading, after: Reading, *, most: int, now: datetime) -> None:
    """R23 to R25: capacity that is free is given, no more, and owners take turns."""
    running, ready = before.running(), before.claimable(now)
    room = {owner: min(count, max(PER_OWNER - running[owner], 0)) for owner, count in ready.items()}
    free = PER_DEPLOYMENT - sum(running.values())
    given = after.running()
    given.subtract(running)
    assert sum(given.values()) == min(most, max(free, 0), sum(room.values())), f"R25: {given} of {room}, {free} free"
    for owner, count in given.items():
        left_out = [other for other in room if given[other] < room[other] and other != owner]
        for other in left_out:
            fair = count == 0 or running[owner] + count <= running[other] + given[other] + 1
            assert fair, f"R23: {owner} got {count}, {other} waits with {given[other]}"
