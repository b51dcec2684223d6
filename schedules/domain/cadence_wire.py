"""From a cadence back to the wire: what is stored and what the API echoes."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, date, datetime, time

from schedules.domain.cadence_kinds import WEEKDAYS, Cadence, Once, Recurrence

_ORDER = ("minute", "days", "day", "nth", "weekday", "month", "time", "every", "unit", "anchor", "expression")


def to_wire(cadence: Cadence) -> dict[str, object]:
    """Return the JSON form of a cadence: only the fields of its kind, `every` only when it is not 1."""
    if isinstance(cadence, Once):
        return {"kind": cadence.kind, "at": cadence.text}
    if isinstance(cadence, Recurrence):
        return {"kind": cadence.kind, "dtstart": cadence.dtstart, "rule": cadence.text}
    names = {item.name for item in fields(cadence)}
    found: dict[str, object] = {"kind": cadence.kind}
    for name in (name for name in _ORDER if name in names):
        value = getattr(cadence, name)
        if value is None or (name == "every" and value == 1 and "unit" not in names):
            continue
        found[name] = _plain(name, value)
    return found


def _plain(name: str, value: object) -> object:
    if name == "days":
        return [WEEKDAYS[number] for number in value]  # type: ignore[attr-defined]
    if name == "weekday":
        return WEEKDAYS[value]  # type: ignore[call-overload]
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, time):
        return value.strftime("%H:%M")
    return value.isoformat() if isinstance(value, date) else value
