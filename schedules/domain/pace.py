"""How often a cadence comes: for what it will cost a month. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from schedules.domain.cadence import Cadence
from schedules.domain.occurrences import occurrences

MONTH = timedelta(days=30)
_COUNTED = 200  # of a rule that comes more often the rest of the month is taken to be like the beginning


def runs_a_month(cadence: Cadence, zone: str, after: datetime) -> int:
    """Return how many occurrences lie in the 30 days after `after`; about, when they are many."""
    found = occurrences(cadence, zone, after, after + MONTH, limit=_COUNTED)
    if len(found) < _COUNTED:
        return len(found)
    return round(_COUNTED * (MONTH / (found[-1].at - after)))
