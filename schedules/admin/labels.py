"""The colours that statuses have in lists."""

from __future__ import annotations

from schedules.outputs.words import OUTCOMES, STATES

_OUTCOME_LABELS = {
    "queued": "info", "running": "info", "needs_approval": "warning", "succeeded": "success", "failed": "danger",
    "timed_out": "danger", "interrupted": "danger", "expired": "warning", "missed": "warning", "refused": "primary",
}  # fmt: skip
_STATE_LABELS = {"armed": "success", "blocked": "danger", "deleting": "warning"}


def outcome_labels() -> dict[str, str]:
    """Return the colour of each outcome that has one, by its word."""
    return {str(OUTCOMES[status]): label for status, label in _OUTCOME_LABELS.items()}


def state_labels() -> dict[str, str]:
    """Return the colour of each state that has one, by its word."""
    return {str(STATES[state]): label for state, label in _STATE_LABELS.items()}
