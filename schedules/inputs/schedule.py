"""The wire body of a schedule, read without storing anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from accounts.models import User
from accounts.selectors.limits import limits_of
from core.errors import Refusal
from schedules.models import Schedule
from schedules.services.drafts import Draft, draft_read


def schedule_input(data: Mapping[str, Any], *, owner: User, now: datetime, stored: Schedule | None = None) -> Draft:
    """Return the typed values of a body, for an edit of `stored` when given; `services.editing` reads the same way.

    Raises Refusal with every field that does not fit, the minimum interval of `owner` included.
    """
    floor = limits_of(owner).min_interval_seconds
    draft = draft_read(data, owner=owner, floor_seconds=floor, stored=stored, now=now)
    errors = list(draft.errors)
    if draft.timing is not None and draft.timing.below_floor is not None:
        errors.append(draft.timing.below_floor)
    if errors:
        raise Refusal.of(errors)
    return draft
