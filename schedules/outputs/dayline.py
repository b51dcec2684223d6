"""The reader's day as one line: what ran, what comes, and a needle for now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.human import Reader
from core.walltime import UnknownZone
from schedules.domain.cadence import stored_cadence
from schedules.domain.cadence_errors import CadenceError
from schedules.domain.occurrences import occurrences
from schedules.domain.states import OPEN
from schedules.models import Schedule
from schedules.outputs.words import counted
from schedules.selectors.lists import Outcome

_MOST_MARKS = 120
_NEEDLE_STEP = timedelta(minutes=5)


def dayline_view(schedules: Sequence[Schedule], outcomes: Iterable[Outcome], reader: Reader) -> dict[str, Any]:
    """Return the marks of today by their place in per cent, and the same in words."""
    start, end = reader.day_bounds()
    ran = sorted((o for o in outcomes if start <= o.scheduled_for < end), key=lambda o: o.scheduled_for)
    coming = sorted(at for schedule in schedules for at in _coming(schedule, end) if start <= at)
    marks = [{"x": _place(o.scheduled_for, start, end), "s": o.status} for o in ran]
    marks += [{"x": _place(at, start, end), "s": "armed"} for at in coming]
    moment = start + (reader.now - start) // _NEEDLE_STEP * _NEEDLE_STEP
    return {
        "marks": marks[-_MOST_MARKS:],
        "needle": _place(moment, start, end),
        "hours": [_hour(hour, start, end, reader) for hour in (0, 6, 12, 18, 24)],
        "words": _words([o.status for o in ran], coming, reader),
    }


def _hour(hour: int, start: datetime, end: datetime, reader: Reader) -> dict[str, str]:
    x = f"{hour / 24 * 100:.2f}%"
    anchor = {0: "start", 24: "end"}.get(hour, "middle")
    at = start if hour == 0 else end if hour == 24 else start + timedelta(hours=hour)
    text = f"{hour:02d}" if reader.clock == "24" else reader.at(at).replace(":00", "")
    return {"x": x, "anchor": anchor, "text": text}


def _place(at: datetime, start: datetime, end: datetime) -> str:
    return f"{(at - start) / (end - start) * 100:.2f}%"


def _words(ran: list[str], coming: list[datetime], reader: Reader) -> str:
    settled = [status for status in ran if status not in OPEN]
    going = [status for status in ran if status in OPEN]
    so_far = ", ".join(part for part in (counted(settled), counted(going)) if part) or _("nothing ran")
    if not coming:
        return _("Today so far: %(so_far)s. Nothing more to come.") % {"so_far": so_far}
    more = ngettext("%(n)s still to come", "%(n)s still to come", len(coming)) % {"n": len(coming)}
    return _("Today so far: %(so_far)s. %(more)s, the next at %(at)s.") % {
        "so_far": so_far,
        "more": more,
        "at": reader.at(coming[0]),
    }


def _coming(schedule: Schedule, end: datetime) -> Sequence[datetime]:
    first = schedule.next_occurrence_at
    if first is None or first >= end or not schedule.is_on:
        return ()
    last = min(end, schedule.until + timedelta(microseconds=1)) if schedule.until else end
    return _until(json.dumps(schedule.cadence, sort_keys=True), schedule.zone, first, last)


@lru_cache(maxsize=4096)
def _until(cadence: str, zone: str, first: datetime, end: datetime) -> tuple[datetime, ...]:
    """Return the occurrences from `first` to before `end`; a pure function of its arguments, hence kept."""
    try:
        found = occurrences(stored_cadence(json.loads(cadence)), zone, first - timedelta(seconds=1), end, limit=48)
    except (CadenceError, UnknownZone):
        return (first,)
    return tuple(occurrence.at for occurrence in found if occurrence.at < end)
