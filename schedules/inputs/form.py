"""The dialog's form and the wire body: one becomes the other, so that form and API are refused by the same rules.

What cannot be turned into the body's type is passed on as typed; the server's refusal then stands at its field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.http import QueryDict

from core.walltime import UnknownZone, place, show, zone
from schedules.domain.choices import DEFAULT_NOTIFY
from schedules.models import Schedule

Form = dict[str, Any]
"""Values by form field name: text, a list of texts (`days`) or a truth value (`enabled`)."""

_CADENCE_FIELDS: dict[str, tuple[str, ...]] = {
    "once": ("at_date", "at_time"),
    "hourly": ("minute",),
    "daily": ("time", "every", "anchor"),
    "weekdays": ("time",),
    "weekly": ("days", "time", "every", "anchor"),
    "monthly": ("monthly_by", "day", "nth", "weekday", "time"),
    "yearly": ("month", "year_day", "time"),
    "interval": ("interval_every", "interval_unit"),
    "cron": ("expression",),
    "rrule": ("dtstart", "rule"),
}
_SCALED: dict[str, tuple[str, int]] = {
    "misfire_grace_seconds": ("misfire_grace_minutes", 60),
    "deadline_seconds": ("deadline_minutes", 60),
    "retry_window_seconds": ("retry_window_minutes", 60),
}
_PLAIN = ("name", "agent", "zone", "overlap_policy", "misfire_policy")
_SWITCHES = ("enabled",)
_ENDS = ("ends", "until_date", "until_time", "max_runs")
_MOST_SECONDS = 10**12
_LISTS = ("days",)
_REPEATS = ("every", "anchor")
_FIELD_OF: dict[str, str] = {
    "cadence": "kind",
    "cadence.at": "at_date",
    "cadence.unit": "interval_unit",
    "until": "until_date",
    "notify": "notify_on",
    "notify.on": "notify_on",
    **{path: field for path, (field, _unit) in _SCALED.items()},
}
_FIELD_OF_KIND: dict[tuple[str, str], str] = {
    ("cadence.every", "interval"): "interval_every",
    ("cadence.day", "yearly"): "year_day",
}


def field_of_path(path: str, kind: str = "") -> str:
    """Return the form field at which a refusal of `path` (`cadence.expression`) stands.

    `kind` is the frequency that was chosen: two paths have a field of their own for one kind.
    """
    return _FIELD_OF_KIND.get((path, kind)) or _FIELD_OF.get(path) or path.removeprefix("cadence.").split(".")[0]


def form_to_body(post: QueryDict, schedule: Schedule | None = None) -> dict[str, Any]:
    """Return the wire body of a dialog's post, with the fields of the chosen kind only.

    For an edit give `schedule`: what the form still says as it was filled in is left out, so that saving an untouched
    form changes nothing (B24) and does not count as switching a blocked schedule on.
    """
    form = _values(post)
    old = body_to_form(schedule) if schedule is not None else {}
    changed = {name for name, value in form.items() if schedule is None or not _same(value, old.get(name))}
    body: dict[str, Any] = {name: form[name] for name in _PLAIN if name in changed}
    if "prompt" in changed:
        body["prompt"] = form["prompt"]
    if "project" in changed:
        body["project"] = form["project"] or None
    if _cadence_changed(form, old, changed):
        body["cadence"] = _cadence(form)
    body |= {path: _scaled(form[name], unit) for path, (name, unit) in _SCALED.items() if name in changed}
    body |= {name: form[name] for name in _SWITCHES if name in changed}
    if "monthly_budget" in changed:
        body["monthly_budget"] = _amount(form["monthly_budget"])
    if changed & set(_ENDS):
        body |= _ends(form, old)
    if "notify_on" in changed:
        body["notify"] = {"on": form["notify_on"]}
    return body


def body_to_form(schedule: Schedule) -> Form:
    """Return what the dialog's fields say for `schedule`: every name, those of other kinds empty."""
    notify = schedule.notify or DEFAULT_NOTIFY
    form: Form = {
        "name": schedule.name,
        "prompt": _lines(schedule.prompt),
        "agent": schedule.agent.public_id,
        "project": schedule.project.public_id if schedule.project else "",
        "zone": schedule.zone,
        "overlap_policy": schedule.overlap_policy,
        "misfire_policy": schedule.misfire_policy,
        "enabled": schedule.enabled,
        "notify_on": notify["on"],
        "monthly_budget": "" if schedule.monthly_budget is None else f"{schedule.monthly_budget:.2f}",
        "revision": str(schedule.revision),
    }
    for path, (name, unit) in _SCALED.items():
        form[name] = _in_units(getattr(schedule, path), unit)
    return form | _cadence_form(schedule) | _ends_form(schedule)


def _values(post: QueryDict) -> Form:
    """Return the posted values; a box that is not ticked is not in the post."""
    form: Form = {name: post.getlist(name) if name in _LISTS else post[name] for name in post}
    form |= {name: form.get(name) in ("on", "true", "1") for name in _SWITCHES}
    form |= {name: form.get(name, []) for name in _LISTS}
    if "prompt" in form:
        form["prompt"] = _lines(form["prompt"])
    return form


def _lines(text: str) -> str:
    """Return `text` with the line ends that everything but a form's post has."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _same(value: Any, old: Any) -> bool:
    if isinstance(value, list):
        return sorted(value) == sorted(old or [])
    return value == (old if old is not None else "")


def _cadence_changed(form: Form, old: Form, changed: set[str]) -> bool:
    """Return whether the chosen kind, or a field of the chosen kind, differs; leftovers of other kinds do not count."""
    if not old:
        return True
    if "kind" not in form:
        return False
    return "kind" in changed or bool(changed & set(_CADENCE_FIELDS.get(form["kind"], ())))


def _cadence(form: Form) -> dict[str, Any]:
    kind = form.get("kind", "")
    cadence: dict[str, Any] = {"kind": kind}
    if kind == "once":
        day, time = form.get("at_date", "").strip(), form.get("at_time", "").strip()
        cadence["at"] = f"{day}T{time}" if time else day
    elif kind == "monthly":
        by = ("nth", "weekday") if form.get("monthly_by") == "weekday" else ("day",)
        cadence |= _taken(form, (*by, "time"), numbers=("nth", "day"))
    elif kind == "yearly":
        cadence |= {"month": _number(form.get("month", "")), "day": _number(form.get("year_day", ""))}
        cadence |= _taken(form, ("time",))
    elif kind == "interval":
        cadence |= {"every": _number(form.get("interval_every", "")), "unit": form.get("interval_unit", "")}
    else:
        names = [name for name in _CADENCE_FIELDS.get(kind, ()) if name not in _REPEATS]
        cadence |= _taken(form, names, numbers=("minute",))
        cadence |= _repeats(form) if kind in ("daily", "weekly") else {}
    return cadence


def _taken(form: Form, names: Iterable[str], numbers: tuple[str, ...] = ()) -> dict[str, Any]:
    taken = {name: _trimmed(form[name]) for name in names if name in form}
    return {name: _number(value) if name in numbers else value for name, value in taken.items()}


def _trimmed(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _repeats(form: Form) -> dict[str, Any]:
    """Return `every` and `anchor` as the wire has them: every day or week is the default and has no anchor."""
    every = _number(form.get("every", ""))
    if every in ("", 1):
        return {}
    anchor = form.get("anchor", "").strip()
    return {"every": every, "anchor": anchor} if anchor else {"every": every}


def _number(text: str) -> int | str:
    """Return the whole number that `text` says, else the text as typed."""
    return int(text) if re.fullmatch(r"\s*-?[0-9]{1,12}\s*", text) else text


def _scaled(text: str, unit: int) -> int | str | None:
    """Return `text` minutes in the nearest whole second, None when it is empty, else the text as typed."""
    if not text.strip():
        return None
    try:
        seconds = Decimal(text.strip().replace(",", ".")) * unit
    except ArithmeticError:
        return text
    return round(seconds) if seconds.is_finite() and abs(seconds) < _MOST_SECONDS else text


def _amount(text: str) -> str | None:
    """Return an amount as the wire has it, None when it is empty; a comma is as good as a point."""
    return text.strip().replace(",", ".") or None


def _in_units(seconds: int | None, unit: int) -> str:
    if seconds is None:
        return ""
    amount = Decimal(seconds) / unit
    return format(amount.quantize(Decimal("0.0001")).normalize(), "f")


def _ends(form: Form, old: Form) -> dict[str, Any]:
    """Return the end that was chosen; choosing another one clears the one before."""
    ends = form.get("ends", "")
    chosen: dict[str, Any] = {}
    if ends == "date":
        chosen["until"] = _until(form)
    elif ends == "count":
        chosen["max_runs"] = _number(form.get("max_runs", ""))
    return chosen if ends == old.get("ends") else {"until": None, "max_runs": None} | chosen


def _until(form: Form) -> str:
    """Return the instant of the typed local date and time in the typed zone; without a time the whole day counts."""
    day, time = form.get("until_date", "").strip(), form.get("until_time", "").strip()
    typed = f"{day} {time}".strip()
    try:
        local = datetime.fromisoformat(f"{day}T{time or '23:59:59'}")
        at, _shifted = place(local, zone(form.get("zone", "")))
    except (ValueError, OverflowError, UnknownZone):
        return typed
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _cadence_form(schedule: Schedule) -> Form:
    cadence = schedule.cadence
    kind = cadence.get("kind", "")
    form: Form = {name: "" for names in _CADENCE_FIELDS.values() for name in names}
    form |= {"kind": kind, "days": [], "every": "1", "monthly_by": "weekday" if "nth" in cadence else "day"}
    if kind == "once":
        form |= _once_form(cadence["at"], schedule.zone)
    elif kind == "interval":
        form |= {"interval_every": str(cadence["every"]), "interval_unit": cadence["unit"]}
    elif kind == "yearly":
        form |= {"month": str(cadence["month"]), "year_day": str(cadence["day"]), "time": cadence["time"]}
    else:
        known = {name: cadence[name] for name in _CADENCE_FIELDS.get(kind, ()) if name in cadence}
        form |= {name: value if isinstance(value, list) else str(value) for name, value in known.items()}
    return form


def _once_form(at: str, name: str) -> Form:
    """Show an instant with an offset as the wall clock of the schedule's zone; it is sent only when it is changed."""
    try:
        given = datetime.fromisoformat(at)
        local = show(given, zone(name)) if given.tzinfo else given
    except (ValueError, UnknownZone):
        day, _, time = at.partition("T")
        return {"at_date": day, "at_time": time}
    return {"at_date": local.date().isoformat(), "at_time": _clock(local)}


def _ends_form(schedule: Schedule) -> Form:
    if schedule.until is not None:
        try:
            local = show(schedule.until, zone(schedule.zone))
        except UnknownZone:
            local = schedule.until.astimezone(UTC)
        day, time = local.date().isoformat(), _clock(local)
        return {"ends": "date", "until_date": day, "until_time": time, "max_runs": str(schedule.max_runs or "")}
    ends = "count" if schedule.max_runs is not None else "never"
    return {"ends": ends, "until_date": "", "until_time": "", "max_runs": str(schedule.max_runs or "")}


def _clock(local: datetime) -> str:
    """Return `09:00`, with the seconds only where there are some."""
    whole_minute = local.second == 0 and local.microsecond == 0
    return (local - timedelta(microseconds=local.microsecond)).strftime("%H:%M" if whole_minute else "%H:%M:%S")
