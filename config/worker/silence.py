"""How long a sign of life has stayed the same, by a clock that nobody can set."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass
class Silence:
    """A sign is a row's instant. Its age by the wall clock says nothing: that clock may have been moved (C15)."""

    sign: datetime | None = None
    since: float | None = None

    def look(self, sign: datetime | None, monotonic: float) -> float:
        """Return for how many seconds `sign` has not changed; 0 at the first look."""
        if self.since is None or sign != self.sign:
            self.sign, self.since = sign, monotonic
        return monotonic - self.since

    def forget(self) -> None:
        """Begin anew: nobody has to give a sign now."""
        self.since = None
