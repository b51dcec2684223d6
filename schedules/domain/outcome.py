"""Which status a run gets when its turn ends: the two move together. Pure."""

from __future__ import annotations

from chats.domain.states import TurnStatus
from schedules.domain.states import RunStatus

_SKIPPED = {"overlap", "skip_date", "skip_next", "balance", "budget", "quota", "approvals_pending"}
_MISSED = {"misfire", "passed_over"}
_CANCELLED = {"paused", "blocked", "deleted", "edited", "superseded", "replaced"}


def run_status(turn_status: str, code: str) -> str:
    """Return the run's status for a turn that ended as `turn_status` with `code`.

    A turn that never started is skipped, refused, missed or cancelled by its reason.
    """
    if turn_status == TurnStatus.COMPLETED:
        return RunStatus.EMPTY if code == "empty_answer" else RunStatus.SUCCEEDED
    if turn_status == TurnStatus.FAILED:
        return {"deadline": RunStatus.TIMED_OUT, "worker_lost": RunStatus.INTERRUPTED}.get(code, RunStatus.FAILED)
    if turn_status == TurnStatus.CANCELLED:
        return never_ran(code)
    return {TurnStatus.STOPPED: RunStatus.STOPPED, TurnStatus.EXPIRED: RunStatus.EXPIRED}[TurnStatus(turn_status)]


def never_ran(code: str) -> str:
    """Return the status of a run that never reached a model, by its reason: what no other group names is refused."""
    if code in _SKIPPED:
        return RunStatus.SKIPPED
    if code in _MISSED:
        return RunStatus.MISSED
    return RunStatus.CANCELLED if code in _CANCELLED else RunStatus.REFUSED
