"""The only writer of the status of runs and the state of schedules; services call it, nobody else."""

from schedules.lifecycle.runs import (
    cancel_unstarted,
    from_states,
    insert,
    opened,
    refresh_unstarted,
    requeue,
    settle_many,
    start,
    withdraw,
)
from schedules.lifecycle.schedule import (
    block,
    complete,
    enable,
    erase,
    mark_deleting,
    pause,
    reopen,
    show_before,
    show_last,
    unblock,
    write_counters,
)

__all__ = [
    "block", "cancel_unstarted", "complete", "enable", "erase", "from_states", "insert", "mark_deleting", "opened", "pause",
    "refresh_unstarted", "reopen", "requeue", "settle_many", "show_before", "show_last", "start", "unblock", "withdraw",
    "write_counters",
]  # fmt: skip
