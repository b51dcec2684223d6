"""What one settled run does to its schedule's counters, and when they block it (R10 to R13). Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from schedules.domain.states import RunKind, RunStatus

# Only these bear on the failure streak; a row that never ran says nothing about whether the schedule works.
_DECIDING = {RunStatus.SUCCEEDED, RunStatus.EMPTY, RunStatus.FAILED, RunStatus.TIMED_OUT}
RECENT = 5
_NOT_THE_OWNERS = {"provider_auth"}  # an operator's to mend (R12)


@dataclass(frozen=True)
class Counters:
    """`through` is the newest occurrence that has borne on the streak (R10).

    `costs` are those of the last `RECENT` runs that cost anything, oldest first: the dearest is reserved for the next.
    """

    succeeded: int
    reached: int
    failure_streak: int
    balance_skip_streak: int
    through: datetime | None
    costs: tuple[Decimal, ...] = ()


@dataclass(frozen=True)
class Settled:
    """One run at its end. `current`: of the schedule's present revision (R11); `reached`: a model was called."""

    kind: str
    status: str
    reason: str
    scheduled_for: datetime
    current: bool
    reached: bool
    cost: Decimal | None = None


def count(counters: Counters, run: Settled) -> Counters:
    """Return the counters after `run`. Totals take every row once in any order, streaks follow the occurrences."""
    after = replace(
        counters,
        succeeded=counters.succeeded + (run.status == RunStatus.SUCCEEDED),
        reached=max(counters.reached - (run.kind == RunKind.SCHEDULED and not run.reached), 0),
        costs=counters.costs if run.cost is None else (*counters.costs, run.cost)[-RECENT:],
    )
    outdated = counters.through is not None and run.scheduled_for < counters.through
    if not run.current or outdated:
        return after
    if run.reached:
        after = replace(after, balance_skip_streak=0)
    elif run.reason == "balance":
        streak = counters.balance_skip_streak + 1
        after = replace(after, balance_skip_streak=streak, through=run.scheduled_for)
    if run.status not in _DECIDING:
        return after
    streak = counters.failure_streak
    if run.status in (RunStatus.SUCCEEDED, RunStatus.EMPTY):
        streak = 0
    elif run.reason not in _NOT_THE_OWNERS:
        streak += 1
    return replace(after, failure_streak=streak, through=run.scheduled_for)


def without_credit(counters: Counters, scheduled_for: datetime) -> Counters:
    """Return the counters after an occurrence that found no credit as it fell due: it has no run that counted (R12)."""
    if counters.through is not None and scheduled_for < counters.through:
        return counters
    return replace(counters, balance_skip_streak=counters.balance_skip_streak + 1, through=scheduled_for)


def grew(before: Counters, after: Counters) -> bool:
    """Return whether the run made a streak longer: one that changes none blocks nothing (R10)."""
    return after.failure_streak > before.failure_streak or after.balance_skip_streak > before.balance_skip_streak


def block_reason(counters: Counters, *, max_failures: int, max_balance_skips: int) -> str:
    """Return the code that blocks a schedule with these counters, or an empty string (R13)."""
    if counters.failure_streak >= max_failures:
        return "too_many_failures"
    if counters.balance_skip_streak >= max_balance_skips:
        return "insufficient_balance"
    return ""
