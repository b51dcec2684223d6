"""The sentence and the next occurrences under the frequency, as their template shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from accounts.models import User
from core.errors import FieldError, Refusal
from core.human import Reader, say
from schedules.inputs.form import form_to_body
from schedules.panel.costs import Asked, asked_of, cost_words
from schedules.services.preview import schedule_preview

View = dict[str, Any]

_MOVED = "clock_shifted"


def preview_of_post(*, owner: User, post: QueryDict, reader: Reader) -> View:
    """Return the preview of what the dialog says now."""
    body, asked = form_to_body(post), asked_of(owner, post)
    return preview_view(
        owner=owner, cadence=body.get("cadence") or {}, zone=body.get("zone"), reader=reader, asked=asked
    )


def preview_view(
    *,
    owner: User,
    cadence: Mapping[str, Any],
    zone: str | None,
    reader: Reader,
    count: int = 5,
    asked: Asked | None = None,
) -> View:
    """Return sentence, rows, notes and about what it costs; or what is wrong, with its code."""
    body: View = {"cadence": dict(cadence), "count": count} | ({"zone": zone} if zone else {})
    try:
        found = schedule_preview(owner=owner, body=body, now=reader.now)
    except Refusal as refusal:
        # A field that is still empty is no mistake yet: saving says so, the preview waits.
        errors: Sequence[FieldError | Refusal] = refusal.fields or [refusal]
        wrong = [error for error in errors if error.code != "required"]
        return {"errors": [{"code": error.code, "text": say(error.code, error.params)} for error in wrong]}
    there = zone or owner.zone
    cost = cost_words(owner=owner, asked=asked, cadence=cadence, zone=there, now=reader.now) if asked else ""
    return shown(found, reader, there) | {"cost": cost}


def shown(found: Mapping[str, Any], reader: Reader, zone: str) -> View:
    """Lay out a preview: the note of a moved occurrence at its row, the rest below. Both come in order of time."""
    rows = [_row(occurrence, reader, zone) for occurrence in found["occurrences"]]
    moved = [note for note in found["warnings"] if note["code"] == _MOVED]
    shifted = [row for row in rows if row["shifted"]]
    for row, note in zip(shifted, moved, strict=False):
        row["notes"] = [note]
    placed = moved[: len(shifted)]
    rest = [note for note in found["warnings"] if note not in placed]
    return {"description": found["description"], "rows": rows, "warnings": rest}


def _row(occurrence: Mapping[str, Any], reader: Reader, zone: str) -> View:
    at = datetime.fromisoformat(str(occurrence["at"]))
    there = reader.in_zone(zone)
    away = reader.away(at)
    if reader.zone != zone and reader.at(at) != there.at(at):
        away = _("%(away)s · %(mine)s yours") % {"away": away, "mine": reader.at(at)}
    return {
        "day": there.day_short(at),
        "at": there.stamp(at, there.at(at, exact=True)),
        "away": away,
        "shifted": occurrence["shifted"],
        "notes": [],
    }
