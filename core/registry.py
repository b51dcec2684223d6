"""What apps on the left need called from apps on their right, filled at start-up by the app on the right.

The origin of a turn decides who is asked before it starts and who is told when it ends; `chats` knows origins only
through this table, so the import arrow keeps pointing left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True)
class StartPlan:
    """What a turn needs to start: where its conversation goes, what it is called, and the text of the user."""

    title: str
    project_id: int | None
    prompt: str


@dataclass(frozen=True)
class StartRefused:
    """The origin says no before the model is called: the turn's terminal status and the reason to record."""

    status: str
    reason: str
    params: dict[str, Any]


@dataclass(frozen=True)
class StartWait:
    """Not now, and nothing is lost: the turn goes back to `queued` and is looked at again after `seconds`."""

    seconds: float


class TurnOrigin(Protocol):
    """The room of one origin. Each call runs inside the caller's transaction; turns are locked by the caller."""

    def start(self, turns: Sequence[Any], *, now: datetime) -> dict[int, StartPlan | StartRefused | StartWait]:
        """Decide for each turn, keyed by its id, whether it may call the model now (gate moment `start`)."""

    def started(self, turns: Sequence[Any], *, now: datetime) -> None:
        """The turns have their conversations and are about to call the model."""

    def requeued(self, turns: Sequence[Any], *, now: datetime) -> None:
        """The turns went back to `queued` (retry wait, lost worker before the call)."""

    def settled(self, turns: Sequence[Any], *, now: datetime) -> None:
        """The turns reached a terminal status; write everything that follows, in the same transaction (R3)."""

    def retry_until(self, turn: Any, *, now: datetime) -> datetime | None:
        """Return the instant from which no retry may start (the next occurrence), or None."""


_origins: dict[str, TurnOrigin] = {}


def register_origin(name: str, origin: TurnOrigin) -> None:
    """Register the room of origin `name`; called once from the app's `ready`."""
    _origins[name] = origin


def origin_of(name: str) -> TurnOrigin | None:
    """Return the room registered for `name`, or None for turns nobody else follows (a person's)."""
    return _origins.get(name)


class ProjectHolder(Protocol):
    """The room of one app that files things in projects; `projects` counts and lets go through this table."""

    def counts(self, project_ids: Sequence[int]) -> dict[int, int]:
        """Return how many things are filed in each project; a project without any may be absent. One query."""

    def names(self, project_id: int) -> list[str]:
        """Return what the confirmation of a deletion names, at most 50."""

    def project_going(self, project_id: int, *, moves: bool, move_to: int | None, now: datetime) -> None:
        """The project becomes a tombstone in the caller's transaction.

        With `moves` the person has said where what is filed there goes (None: to no project); without it everything
        stays where it points.
        """


_holders: dict[str, ProjectHolder] = {}


def register_project_holder(name: str, holder: ProjectHolder) -> None:
    """Register the room `name` (`conversations`, `schedules`); called once from the app's `ready`."""
    _holders[name] = holder


def project_holders() -> dict[str, ProjectHolder]:
    """Return every registered room by name, in the order of the apps."""
    return dict(_holders)


RunIds = Callable[[Sequence[int]], dict[int, str]]
_run_ids: list[RunIds] = []


def register_run_ids(read: RunIds) -> None:
    """Register who knows which run caused a turn: ids of turns in, public ids of runs out. One query."""
    _run_ids[:] = [read]


def run_ids_of(turn_ids: Sequence[int]) -> dict[int, str]:
    """Return the public id of the run that caused each turn; a turn that no run caused is absent."""
    return _run_ids[0](turn_ids) if _run_ids and turn_ids else {}


Fires = Callable[[Any, str], bool]
_fires: list[Fires] = []


def register_fires(may: Fires) -> None:
    """Register who knows whether a person has a schedule of that public id, which a token may be made to fire."""
    _fires[:] = [may]


def has_to_fire(user: Any, public_id: str) -> bool:
    """Return whether `user` has something of that public id which a token may fire."""
    return bool(_fires) and _fires[0](user, public_id)


UsedCount = Callable[[Any], int]
_used: dict[str, UsedCount] = {}


def register_used(name: str, count: UsedCount) -> None:
    """Register how much of a limit a person uses up now (`used_schedules`), shown beside the limits."""
    _used[name] = count


def used_by(user: Any) -> dict[str, int]:
    """Return every registered count for `user`, by name."""
    return {name: count(user) for name, count in _used.items()}
