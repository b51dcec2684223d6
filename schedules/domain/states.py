"""The states of a run, the moves between them, and the choices a schedule makes."""

from enum import StrEnum


class RunStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    NEEDS_APPROVAL = "needs_approval"
    SUCCEEDED = "succeeded"
    EMPTY = "empty"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"
    EXPIRED = "expired"
    SKIPPED = "skipped"
    REFUSED = "refused"
    MISSED = "missed"
    CANCELLED = "cancelled"


UNFINISHED = [RunStatus.QUEUED.value, RunStatus.RUNNING.value]
OPEN = [*UNFINISHED, RunStatus.NEEDS_APPROVAL.value]
TERMINAL = [s.value for s in RunStatus if s.value not in OPEN]
NEVER_RAN = [RunStatus.SKIPPED.value, RunStatus.REFUSED.value, RunStatus.MISSED.value, RunStatus.CANCELLED.value]

MOVES: dict[str, list[str]] = {
    RunStatus.QUEUED: [
        RunStatus.RUNNING, RunStatus.SUCCEEDED, RunStatus.EMPTY, RunStatus.FAILED, RunStatus.TIMED_OUT,
        RunStatus.INTERRUPTED, RunStatus.STOPPED, RunStatus.SKIPPED, RunStatus.REFUSED, RunStatus.MISSED,
        RunStatus.CANCELLED,
    ],
    RunStatus.RUNNING: [
        RunStatus.QUEUED, RunStatus.NEEDS_APPROVAL, RunStatus.SUCCEEDED, RunStatus.EMPTY, RunStatus.FAILED,
        RunStatus.TIMED_OUT, RunStatus.INTERRUPTED, RunStatus.STOPPED, RunStatus.SKIPPED, RunStatus.REFUSED,
    ],
    RunStatus.NEEDS_APPROVAL: [
        RunStatus.QUEUED, RunStatus.STOPPED, RunStatus.EXPIRED, RunStatus.REFUSED, RunStatus.CANCELLED,
    ],
}  # fmt: skip


class Overlap(StrEnum):
    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    REPLACE = "replace"
    ALLOW = "allow"


class Misfire(StrEnum):
    MISS = "miss"
    RUN_ONCE = "run_once"
    RUN_ALL = "run_all"


class RunKind(StrEnum):
    SCHEDULED = "scheduled"
    MANUAL = "manual"
    API = "api"
    TRIAL = "trial"
