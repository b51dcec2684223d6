"""A body of a create, edit or preview, read and checked as far as one schedule's own words go.

No permission, policy or other row is asked here, and nothing is written: `services/editing` does that under locks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from accounts.models import User
from core.errors import FieldError
from schedules.domain.cadence import Cadence, CadenceError, parse_cadence, stored_cadence, to_wire, zone_of
from schedules.domain.floor import check_floor
from schedules.domain.occurrences import next_occurrence
from schedules.models import Schedule
from schedules.services.bodies import ScheduleBody, body_read


@dataclass(frozen=True)
class Timing:
    """The effective rule: what to store, its smallest gap, and the refusal of that gap under today's floor.

    `cadence` is None when the stored one, or its zone, cannot be read and no new one was sent.
    """

    cadence: Cadence | None
    wire: dict[str, Any]
    zone: str
    min_gap_seconds: int | None
    below_floor: FieldError | None = None

    def next_after(self, now: datetime, until: datetime | None = None) -> datetime | None:
        """Return the first occurrence after `now` and up to `until`, or None."""
        found = next_occurrence(self.cadence, self.zone, now, until) if self.cadence is not None else None
        return found.at if found is not None else None


@dataclass(frozen=True)
class Draft:
    """A body that was read: typed values by their wire names, every refusal, and the rule when it is a new one."""

    values: Mapping[str, Any]
    errors: list[FieldError] = field(default_factory=list)
    timing: Timing | None = None

    @property
    def names(self) -> set[str]:
        return set(self.values)


def draft_read(
    body: Mapping[str, Any], *, owner: User, floor_seconds: int, stored: Schedule | None, now: datetime
) -> Draft:
    """Read `body` for a create (`stored` None) or an edit of `stored`. Raises nothing: refusals are in `errors`.

    `timing` is None when nothing about cadence and zone changes or when they cannot be used.
    """
    values, errors = body_read(ScheduleBody, body, partial=stored is not None, owner=owner)
    timing, timing_errors = timing_read(
        values, owner_zone=owner.zone, floor_seconds=floor_seconds, stored=stored, now=now
    )
    return Draft(values, errors + timing_errors, timing)


def timing_read(
    values: Mapping[str, Any], *, owner_zone: str, floor_seconds: int, stored: Schedule | None, now: datetime
) -> tuple[Timing | None, list[FieldError]]:
    """Return the rule that `values` lead to, None when it stays as stored; and what is wrong with it."""
    zone = values.get("zone", stored.zone if stored is not None else owner_zone)
    sent = values.get("cadence")
    if stored is not None and sent in (None, stored.cadence) and zone == stored.zone:
        return None, []
    errors = _zone_errors(zone)
    previous = _previous(stored)
    if sent is None:
        return (None, errors) if errors or stored is None else _moved(stored, previous, zone, floor_seconds, now)
    try:
        # The fields of the cadence are looked at even when the zone is unknown, so that one answer names all.
        cadence = parse_cadence(sent, zone="UTC" if errors else zone, now=now, previous=previous)
    except CadenceError as error:
        return None, [*errors, cadence_field_error(error)]
    if errors:
        return None, errors
    if stored is not None and (to_wire(cadence), zone) == (stored.cadence, stored.zone):
        return None, []
    return _timed(cadence, zone, floor_seconds, now), []


def stored_timing(schedule: Schedule) -> Timing:
    """Return the rule as it is stored; without its cadence when that or its zone cannot be read."""
    cadence = None if _zone_errors(schedule.zone) else _previous(schedule)
    return Timing(cadence, schedule.cadence, schedule.zone, schedule.min_gap_seconds)


def cadence_field_error(error: CadenceError) -> FieldError:
    """Return a refusal of the domain at its dotted path (wire.md, Errors)."""
    path = error.field if error.field in ("zone", "cadence") else f"cadence.{error.field}"
    return FieldError(path, error.code, error.params)


def _zone_errors(zone: str) -> list[FieldError]:
    try:
        zone_of(zone)
    except CadenceError as error:
        return [cadence_field_error(error)]
    return []


def _moved(
    stored: Schedule, cadence: Cadence | None, zone: str, floor_seconds: int, now: datetime
) -> tuple[Timing | None, list[FieldError]]:
    """Return the stored rule on another zone's clock. A rule that cannot be read moves with it and stays blocked."""
    if cadence is None:
        return Timing(None, stored.cadence, zone, stored.min_gap_seconds), []
    timing = _timed(cadence, zone, floor_seconds, now)
    if stored.completed_at is None and timing.next_after(now) is None:
        return None, [FieldError("zone", "cadence_never_fires")]
    return timing, []


def _previous(stored: Schedule | None) -> Cadence | None:
    try:
        return stored_cadence(stored.cadence) if stored is not None else None
    except CadenceError:
        return None


def _timed(cadence: Cadence, zone: str, floor_seconds: int, now: datetime) -> Timing:
    try:
        gap, refused = check_floor(cadence, zone, now, floor_seconds), None
    except CadenceError as error:
        gap, refused = int(str(error.params["actual_seconds"])), cadence_field_error(error)
    return Timing(cadence, to_wire(cadence), zone, gap, refused)
