"""What follows from how an attempt ended: settle, or try again and when. Pure: chance comes in as a number."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

FIRST_WAIT = 5.0
LONGEST_WAIT = 300.0
MOST_ATTEMPTS = 10
LONGEST_RETRY_AFTER = 86_400.0


@dataclass(frozen=True)
class Failed:
    """How an attempt failed: code of the catalogue, `certainty` (definite, ambiguous), what was written before."""

    code: str
    certainty: str
    retryable: bool
    has_text: bool
    side_effects: bool
    retry_after: float | None = None


@dataclass(frozen=True)
class Tries:
    """What the turn has behind it. `until`: no retry starts from there on (the schedule's next occurrence)."""

    attempts: int
    first_dispatched_at: datetime
    window_seconds: int
    until: datetime | None = None


def wait_seconds(attempt: int, chance: float) -> float:
    """Return the back-off after the `attempt`-th try: half fixed, half by `chance` in [0, 1), 5 s doubling to 5 min."""
    whole = min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT)
    return whole / 2 + whole / 2 * chance


def may_repeat(failed: Failed) -> bool:
    """Return whether repeating is safe: retryable, nothing written, and no side effect when the end is uncertain."""
    if not failed.retryable or failed.has_text:
        return False
    return failed.certainty == "definite" or not failed.side_effects


def sent_away(failed: Failed, tries: Tries, *, now: datetime) -> bool:
    """Return whether the provider's `Retry-After` ends outside the window: that settles `rate_limited` at once."""
    if failed.retry_after is None or not may_repeat(failed) or tries.window_seconds == 0:
        return False
    left = tries.first_dispatched_at + timedelta(seconds=tries.window_seconds) - now
    return failed.retry_after > min(LONGEST_RETRY_AFTER, left.total_seconds())


def next_try(failed: Failed, tries: Tries, *, now: datetime, chance: float) -> datetime | None:
    """Return the instant of the next attempt, or None when the turn settles with this failure.

    A `Retry-After` is never undercut; one that ends outside the window settles at once.
    """
    if not may_repeat(failed) or tries.attempts >= MOST_ATTEMPTS:
        return None
    if sent_away(failed, tries, now=now):
        return None
    wait = max(wait_seconds(tries.attempts, chance), failed.retry_after or 0.0)
    at = now + timedelta(seconds=wait)
    if at > tries.first_dispatched_at + timedelta(seconds=tries.window_seconds):
        return None
    if tries.until is not None and at >= tries.until:
        return None
    return at
