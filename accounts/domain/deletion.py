"""The states of an account's deletion. Pure."""

from __future__ import annotations

from enum import StrEnum


class DeletionState(StrEnum):
    REQUESTED = "requested"  # suspended at once; can be cancelled until `not_before` and beyond
    QUIESCING = "quiescing"  # the grace is over: waits until no worker holds anything of the person
    ERASING = "erasing"  # the commit point is behind: there is only forward
    DONE = "done"  # the user row is gone
    CANCELLED = "cancelled"  # lifted, by somebody or because it failed before the commit point


ENDED = (DeletionState.DONE.value, DeletionState.CANCELLED.value)
"""Everything else counts as open, also a state that nobody knows: an unreadable fence is up (A8)."""

MOVES: dict[str, tuple[str, ...]] = {
    DeletionState.REQUESTED: (DeletionState.QUIESCING, DeletionState.CANCELLED),
    DeletionState.QUIESCING: (DeletionState.ERASING, DeletionState.CANCELLED),
    DeletionState.ERASING: (DeletionState.DONE,),
    DeletionState.DONE: (),
    DeletionState.CANCELLED: (),
}


def from_states(to: str) -> list[str]:
    """Return the states that may move to `to`."""
    return [str(state) for state, targets in MOVES.items() if to in targets]
