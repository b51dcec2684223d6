"""How long a turn may take (R26, R27). Pure."""

from __future__ import annotations


def deadline_seconds(*, own: int | None, agents: int | None, default: int, most: int) -> int:
    """Return the deadline in seconds: the schedule's own, else the agent's, else the default; never above `most`."""
    return min(own or agents or default, most)
