"""What the checker is shown: rows read by SQL, the provider's log, and what was seen to be flushed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.faults.programme.owner import Act, Extra

Moved = tuple[datetime, datetime, int]
TRUSTED_SECONDS = 60  # a tick believes a smaller jump at once and opens what has not come yet
Query = Callable[[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class ScheduleRow:
    """A schedule as it was made, and its counters as they are. `since`: occurrences after it are due."""

    id: int
    cadence: dict[str, Any]
    since: datetime
    until: datetime | None
    succeeded_count: int
    failure_streak: int


@dataclass(frozen=True)
class RunRow:
    """A row of the ledger; `window_end` and `window_count` only on one that stands for missed occurrences."""

    id: int
    schedule_id: int
    scheduled_for: datetime
    window_end: datetime | None
    window_count: int | None
    status: str
    reason: str
    settled_at: datetime | None
    turn_id: int | None
    started_at: datetime | None = None


@dataclass(frozen=True)
class MessageRow:
    """One thing said in a turn."""

    id: int
    turn_id: int
    role: str
    text: str
    state: str


@dataclass(frozen=True)
class Call:
    """A prompt that reached the provider, when, what it was made to answer, and how many pieces of text it sent."""

    prompt: str
    behaviour: str = "ok"
    at: datetime | None = None
    pieces: int = 30


@dataclass(frozen=True)
class ManualRow:
    """A run that a person started."""

    schedule_id: int
    public_id: str
    key: str
    status: str


@dataclass
class Evidence:
    """Everything that the checker may look at. `calls` in their order; `moves`: when the clock went how far ahead.

    `extras`: the schedules that owners acted on, judged by `acts` and not with the others.
    """

    schedules: list[ScheduleRow]
    runs: list[RunRow]
    messages: list[MessageRow]
    leased_turns: list[int] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    flushes: list[tuple[int, int, int]] = field(default_factory=list)
    manual: list[ManualRow] = field(default_factory=list)
    extras: list[Extra] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)


def read(
    query: Query, *, log: Iterable[dict[str, Any]], flushes: list[tuple[int, int, int]], extras: list[Extra],
    acts: list[Act], moves: list[Moved],
) -> Evidence:  # fmt: skip
    """Read everything; `query` runs one statement on the database of either kind."""
    return Evidence(
        schedules=[
            ScheduleRow(id_, _object(cadence), _known(since), _instant(until), succeeded, streak)
            for id_, cadence, since, until, succeeded, streak in query(
                "SELECT id, cadence, created_at, until, succeeded_count, failure_streak FROM schedules_schedule"
            )
        ],
        runs=[
            RunRow(
                id_,
                schedule,
                _known(at),
                _instant(end),
                count,
                status,
                reason,
                _instant(settled),
                turn,
                _instant(start),
            )
            for id_, schedule, at, end, count, status, reason, settled, turn, start in query(
                "SELECT id, schedule_id, scheduled_for, missed_until, missed_count, status, reason, settled_at, turn_id,"
                " started_at FROM schedules_run WHERE kind = 'scheduled'"
            )
        ],
        messages=[MessageRow(*row) for row in query("SELECT id, turn_id, role, text, state FROM chats_message")],
        leased_turns=[
            row[0] for row in query("SELECT id FROM chats_turn WHERE status = 'running' OR leased_by <> '' ORDER BY id")
        ],
        calls=_calls(list(log)),
        flushes=flushes,
        manual=[
            ManualRow(*row)
            for row in query(
                "SELECT schedule_id, public_id, idempotency_key, status FROM schedules_run WHERE kind = 'manual'"
            )
        ],
        extras=extras,
        acts=acts,
        moves=moves,
    )


def _calls(log: list[dict[str, Any]]) -> list[Call]:
    pieces = {entry["id"]: entry["chunks"] for entry in log if entry["event"] == "end"}
    return [
        Call(
            entry["prompt"], entry["behaviour"], datetime.fromtimestamp(entry["at"], UTC), pieces.get(entry["id"], 0)
        )
        for entry in log
        if entry["event"] == "start"
    ]  # fmt: skip


def _object(value: Any) -> dict[str, Any]:
    return json.loads(value) if isinstance(value, str) else value


def _instant(value: Any) -> datetime | None:
    """Return an aware instant: SQLite stores text in UTC, PostgreSQL answers with the session's zone."""
    if value is None:
        return None
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _known(value: Any) -> datetime:
    found = _instant(value)
    assert found is not None
    return found
