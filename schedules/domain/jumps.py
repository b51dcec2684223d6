"""Distrusts a wall clock that jumps: compares it with a clock that nobody can set (C15). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

SUSPICIOUS_SECONDS = 60.0


@dataclass
class JumpGuard:
    """Remembers how far the wall clock is from the boot clock. After a jump of over 60 s it waits 60 s to believe it."""

    base: float | None = None
    pending: float | None = None
    since: float = 0.0

    def look(self, wall: datetime, boot_seconds: float) -> tuple[bool, bool]:
        """Return (trusted, jumped): whether to open runs at `wall`, and whether a jump was believed just now."""
        offset = (wall - datetime.fromtimestamp(0, UTC)).total_seconds() - boot_seconds
        if self.base is None or abs(offset - self.base) <= SUSPICIOUS_SECONDS:
            self.base, self.pending = offset, None
            return True, False
        if self.pending is None or abs(offset - self.pending) > SUSPICIOUS_SECONDS:
            self.pending, self.since = offset, boot_seconds
            return False, False
        if boot_seconds - self.since < SUSPICIOUS_SECONDS:
            return False, False
        self.base, self.pending = offset, None
        return True, True
