"""A cadence in words and in instants before it is saved: what firing will do, from the same functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings

from accounts.models import User
from accounts.selectors.limits import limits_of
from core.errors import Refusal, sentence
from core.wire import instant
from schedules.domain.cadence import Once
from schedules.domain.describe_warnings import Warning, warnings
from schedules.domain.occurrences import Occurrence, occurrences
from schedules.selectors.words import cadence_words
from schedules.services.bodies import PreviewBody, body_read
from schedules.services.drafts import Timing, timing_read

USUAL_COUNT = 5


def schedule_preview(*, owner: User, body: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return description, coming occurrences and notes of a cadence (wire.md, preview). Writes nothing.

    `after` in the body stands for now. Raises the Refusal that a create would give for cadence and zone.
    """
    values, errors = body_read(PreviewBody, body, partial=False)
    after = values.get("after", now)
    floor = limits_of(owner).min_interval_seconds
    timing, timing_errors = timing_read(values, owner_zone=owner.zone, floor_seconds=floor, stored=None, now=after)
    errors += timing_errors
    if timing is not None and timing.below_floor is not None:
        errors.append(timing.below_floor)
    if errors or timing is None or timing.cadence is None:
        raise Refusal.of(errors)
    coming = occurrences(timing.cadence, timing.zone, after, limit=values.get("count", USUAL_COUNT))
    return {
        "description": cadence_words(timing.cadence, timing.zone, owner),
        "occurrences": [_occurrence(found) for found in coming],
        "warnings": [{"code": n.code, "text": sentence(n.code, n.params)} for n in _notes(timing, after)],
    }


def _occurrence(found: Occurrence) -> dict[str, Any]:
    spec = "minutes" if found.local.second == 0 else "seconds"
    local = found.local.replace(tzinfo=None).isoformat(timespec=spec)
    return {"at": instant(found.at), "local": local, "shifted": found.shifted}


def _notes(timing: Timing, after: datetime) -> list[Warning]:
    """Return the notes on the cadence, and how far runs may be spread from these nominal times (C8)."""
    assert timing.cadence is not None
    notes = warnings(timing.cadence, timing.zone, after)
    if settings.SCHEDULE_SPREAD_SECONDS and not isinstance(timing.cadence, Once):
        notes.append(Warning("spread", {"seconds": settings.SCHEDULE_SPREAD_SECONDS}))
    return notes
