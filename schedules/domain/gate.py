"""The one decision "may this run?": pure, over facts that selectors filled, first hit wins.

The rows are numbered as in the specification of the gate. Only a decision at `fire` blocks a schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from chats.domain.admission import GO as ADMITTED
from chats.domain.admission import AdmissionFacts, Verdict, agent_usable, holds, model_usable
from schedules.domain.states import Overlap, RunKind


class Moment(StrEnum):
    WRITE = "write"  # a save or a switch-on: rows 3 to 13 (R18)
    FIRE = "fire"
    START = "start"
    RESUME = "resume"


@dataclass(frozen=True)
class Facts:
    """What the gate asks about one schedule or run. `cadence_error` and `project_error` hold a code or nothing."""

    admission: AdmissionFacts
    kind: str = RunKind.SCHEDULED
    feature_enabled: bool = True
    permitted: bool = True
    deleting: bool = False
    enabled: bool = True
    blocked: bool = False
    superseded: bool = False
    cadence_error: str = ""
    cadence_params: dict[str, Any] = field(default_factory=dict)
    min_gap_seconds: int | None = None
    floor_seconds: int = 0
    require_project: bool = False
    project_id: int | None = None
    project_error: str = ""
    goal_held: bool = False
    over: str = ""  # balance, budget or quota
    over_params: dict[str, Any] = field(default_factory=dict)
    overlap: str = Overlap.SKIP
    serial: bool = False
    unfinished: int = 0
    approvals_waiting: int = 0


@dataclass(frozen=True)
class Decision:
    """`verdict`: go, wait, refused, skipped, cancelled, or replace (stop what runs, then start).

    `blocks` says that the schedule gets the reason as its block.
    """

    verdict: str
    reason: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    blocks: bool = False


GO = Decision("go")
Row = Callable[[Facts], "Decision | None"]


def _of(verdict: Verdict, *, blocks: bool) -> Decision | None:
    if verdict is ADMITTED:
        return None
    return Decision(verdict.name, verdict.reason, verdict.params, blocks and verdict.name == "refused")


def _held(facts: Facts) -> Decision | None:  # rows 1 to 3
    return _of(holds(facts.admission), blocks=False)


def _inactive(facts: Facts) -> Decision | None:  # row 3 alone: a save never waits
    return _of(holds(replace(facts.admission, stopped=False, deleting=False)), blocks=False)


def _feature(facts: Facts) -> Decision | None:  # row 4
    return None if facts.feature_enabled else Decision("refused", "feature_disabled")


def _permission(facts: Facts) -> Decision | None:  # row 5
    return None if facts.permitted else Decision("refused", "permission_revoked", blocks=True)


def _switched(facts: Facts) -> Decision | None:  # row 6
    if facts.deleting:
        return Decision("cancelled", "deleted")
    if facts.superseded:
        return Decision("cancelled", "superseded")
    if facts.kind != RunKind.SCHEDULED:
        return None
    if not facts.enabled:
        return Decision("cancelled", "paused")
    if facts.blocked:
        return Decision("cancelled", "blocked")
    return None


def _cadence(facts: Facts) -> Decision | None:  # row 7
    if facts.kind != RunKind.SCHEDULED:
        return None
    if facts.cadence_error:
        return Decision("refused", facts.cadence_error, facts.cadence_params, blocks=True)
    if facts.min_gap_seconds is not None and facts.min_gap_seconds < facts.floor_seconds:
        params = {"actual": words(facts.min_gap_seconds), "least": words(facts.floor_seconds)}
        return Decision("refused", "cadence_below_floor", params, blocks=True)
    return None


def _agent(facts: Facts) -> Decision | None:  # row 8
    return _of(agent_usable(facts.admission), blocks=True)


def _requirement(facts: Facts) -> Decision | None:  # row 9
    if facts.require_project and facts.project_id is None and not facts.project_error:
        return Decision("refused", "project_required", blocks=True)
    return None


def _destination(facts: Facts) -> Decision | None:  # row 10
    return Decision("refused", facts.project_error, blocks=True) if facts.project_error else None


def _goal(facts: Facts) -> Decision | None:  # row 11
    return Decision("refused", "goal_held", blocks=True) if facts.goal_held else None


def _model(facts: Facts) -> Decision | None:  # row 13
    return _of(model_usable(facts.admission), blocks=True)


def _spend(facts: Facts) -> Decision | None:  # row 14
    return Decision("skipped", facts.over, facts.over_params) if facts.over else None


def _overlap(facts: Facts) -> Decision | None:  # row 15
    if facts.unfinished == 0 or facts.serial or facts.overlap == Overlap.ALLOW:
        return None
    if facts.overlap == Overlap.REPLACE:
        return Decision("replace")
    if facts.overlap == Overlap.QUEUE_ONE and facts.unfinished == 1:
        return None
    return Decision("skipped", "overlap")


def _approvals(facts: Facts) -> Decision | None:  # row 16
    return Decision("skipped", "approvals_pending") if facts.approvals_waiting >= 5 else None


_ALWAYS: list[Row] = [_feature, _permission]
_RULES: list[Row] = [_cadence, _agent, _requirement, _destination, _goal, _model]
_ROWS: dict[Moment, list[Row]] = {
    Moment.WRITE: [_inactive, *_ALWAYS, *_RULES],
    Moment.FIRE: [_held, *_ALWAYS, _switched, *_RULES, _spend, _overlap, _approvals],
    Moment.START: [_held, *_ALWAYS, _switched, _agent, _requirement, _destination, _goal, _model, _spend],
    Moment.RESUME: [_held, *_ALWAYS, _switched, _agent, _requirement, _destination, _goal, _model, _spend],
}


def decide(facts: Facts, moment: Moment) -> Decision:
    """Return the first row's answer for `moment`, or GO (R16: always before anything is billed)."""
    for row in _ROWS[moment]:
        decision = row(facts)
        if decision is not None:
            return decision if moment is Moment.FIRE else Decision(decision.verdict, decision.reason, decision.params)
    return GO


def words(seconds: int) -> str:
    """Return a gap in the largest whole unit: 3600 is "60 minutes", as the form says it."""
    if seconds % 86_400 == 0 and seconds >= 172_800:
        return f"{seconds // 86_400} days"
    if seconds % 3_600 == 0 and seconds >= 7_200:
        return f"{seconds // 3_600} hours"
    if seconds % 60 == 0:
        return "1 minute" if seconds == 60 else f"{seconds // 60} minutes"
    return f"{seconds} seconds"
