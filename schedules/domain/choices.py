"""What a schedule may choose besides its times, the bounds of the numbers, and what holds when nothing was chosen."""

from __future__ import annotations

from typing import Any

DAY_SECONDS = 86_400
MOST_GRACE_SECONDS = 7 * DAY_SECONDS
LEAST_DEADLINE_SECONDS = 10
MOST_RETRY_WINDOW_SECONDS = DAY_SECONDS
APPROVAL_SECONDS = DAY_SECONDS
MOST_RUNS = 1_000_000
MOST_SKIP_DATES = 400

NOTIFY_ON = ("never", "failures", "always", "changed")

DEFAULT_RETENTION: dict[str, Any] = {"keep": "all"}
DEFAULT_NOTIFY: dict[str, Any] = {"on": "failures", "channels": []}
