"""The states of a turn."""

from enum import StrEnum


class TurnStatus(StrEnum):
    QUEUED = "queued"  # waits for capacity, for an earlier one of its series, or for its next try
    RUNNING = "running"  # leased by a live worker
    NEEDS_APPROVAL = "needs_approval"  # waits for a person; holds no capacity
    COMPLETED = "completed"  # the model finished
    FAILED = "failed"  # a definite failure, the deadline or a lost worker; the error code says which
    STOPPED = "stopped"  # somebody stopped it; what was written is kept
    EXPIRED = "expired"  # nobody answered its approval in time
    CANCELLED = "cancelled"  # never started; the reason says why


ACTIVE_TURN = [TurnStatus.QUEUED.value, TurnStatus.RUNNING.value, TurnStatus.NEEDS_APPROVAL.value]
TERMINAL_TURN = [
    TurnStatus.COMPLETED.value,
    TurnStatus.FAILED.value,
    TurnStatus.STOPPED.value,
    TurnStatus.EXPIRED.value,
    TurnStatus.CANCELLED.value,
]
