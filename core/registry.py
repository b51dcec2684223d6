"""What apps on the left need called from apps on their right, filled at start-up by the app on the right.

The origin of a turn decides who is asked before it starts and who is told when it ends; `chats` knows origins only
through this table, so the import arrow keeps pointing left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol


@dataclass(frozen=True)
class StartPlan:
    """What a turn needs to start: where its conversation goes, what it is called, and the text of the user.

    `budget` is what its schedule may spend a month, `recent_costs` what its schedule's last runs cost; None where no
    schedule began it.
    """

    title: str
    project_id: int | None
    prompt: str
    budget: Decimal | None = None
    recent_costs: Sequence[Decimal] | None = None


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


ScheduleNames = Callable[[Any, Collection[str]], dict[str, str]]
_schedule_names: list[ScheduleNames] = []


def register_schedule_names(read: ScheduleNames) -> None:
    """Register who knows what a person's schedules are called: their public ids in, names out. One query."""
    _schedule_names[:] = [read]


def schedule_names_of(user: Any, public_ids: Collection[str]) -> dict[str, str]:
    """Return the name of each schedule of `user`; one that is gone is absent."""
    return _schedule_names[0](user, public_ids) if _schedule_names and public_ids else {}


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


_audit: list[Callable[..., Any]] = []


def register_audit(write: Callable[..., Any]) -> None:
    """Register who keeps the audit log (`accounts`), which pages of `core` write to."""
    _audit[:] = [write]


def audited(**entry: Any) -> None:
    """Write an entry of the audit log in the caller's transaction; the keywords are those of `services/audit`."""
    _audit[0](**entry)


@dataclass(frozen=True)
class Leaving:
    """A person whose account is being erased. `keep_usage`: figures of usage stay, without the person."""

    user_id: int
    keep_usage: bool = False


class Eraser(Protocol):
    """Erases at most `most` rows of one table that belong to somebody who leaves; called until it returns 0.

    Runs inside the caller's transaction and may be called again after a crash at any point.
    """

    def __call__(self, leaving: Leaving, *, most: int, now: datetime) -> int: ...


_erasers: dict[str, Eraser] = {}


def register_eraser(table: str, erase: Eraser) -> None:
    """Register what erases the rows of `table` ("schedules.Run"); what is pointed to before what points to it."""
    _erasers[table] = erase


def erasers() -> list[tuple[str, Eraser]]:
    """Return every table with its eraser in the order of erasing: what was registered last goes first."""
    return list(reversed(_erasers.items()))


class AccountWork(Protocol):
    """The room that works for people: it is stopped when an account's deletion is asked for."""

    def suspend(self, user_id: int, *, now: datetime) -> int:
        """Stop what runs of the person, in the caller's transaction; what is queued stays. Return how much."""

    def working(self, user_id: int, *, now: datetime) -> int:
        """Return how much of the person's is still worked on under a live lease."""


_works: dict[str, AccountWork] = {}


def register_account_work(name: str, work: AccountWork) -> None:
    """Register the room `name` (`turns`) that works for people."""
    _works[name] = work


def account_works() -> dict[str, AccountWork]:
    """Return every registered room that works for people, by name."""
    return dict(_works)


OwnedCount = Callable[[int], int]
_owned: dict[str, OwnedCount] = {}


def register_owned(name: str, count: OwnedCount) -> None:
    """Register how many of something (`schedules`, `running_turns`) a person has: what a deletion says will go."""
    _owned[name] = count


def owned_by(user_id: int) -> dict[str, int]:
    """Return every registered count of what the person has, by name."""
    return {name: count(user_id) for name, count in _owned.items()}


Exporter = Callable[[Any], Iterable[tuple[str, str]]]
_exporters: dict[str, Exporter] = {}


def register_exporter(name: str, export: Exporter) -> None:
    """Register who gives what a person has as files: pairs of a path and its text."""
    _exporters[name] = export


def exporters() -> list[Exporter]:
    """Return every registered exporter, in the order of the apps."""
    return list(_exporters.values())


AgentsUsed = Callable[[Sequence[int]], Iterable[int]]
_agents_used: dict[str, AgentsUsed] = {}


def register_agents_used(name: str, used: AgentsUsed) -> None:
    """Register who knows which agents something that is not over is on: ids of agents in, those in use out."""
    _agents_used[name] = used


def agents_in_use(agent_ids: Sequence[int]) -> set[int]:
    """Return those of the agents that something which is not over is on."""
    return {pk for used in _agents_used.values() for pk in used(agent_ids)}
