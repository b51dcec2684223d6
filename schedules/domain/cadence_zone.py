"""The zone of a schedule, by exactly its name in the bundled data (C7)."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from core import walltime
from schedules.domain.cadence_errors import CadenceError


def zone_of(name: object) -> ZoneInfo:
    """Return the zone of exactly this name in the bundled data. Raises CadenceError `zone_unknown` at `zone`."""
    try:
        return walltime.zone(name)  # type: ignore[arg-type]
    except (walltime.UnknownZone, TypeError):
        raise CadenceError("zone_unknown", "zone", zone=str(name)[:100]) from None
