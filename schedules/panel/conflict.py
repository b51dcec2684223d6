"""Two versions of one schedule side by side: what was typed and what somebody saved meanwhile."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.selectors import agent_find
from core.human import Reader
from projects.selectors import project_find
from schedules.inputs.form import body_to_form
from schedules.models import Schedule
from schedules.panel.forms import typed

_LABELS = {
    "name": gettext_lazy("Name"),
    "agent": gettext_lazy("Agent"),
    "project": gettext_lazy("Project"),
    "prompt": gettext_lazy("Prompt"),
    "kind": gettext_lazy("Frequency"),
    "at_date": gettext_lazy("Date"),
    "at_time": gettext_lazy("Time"),
    "minute": gettext_lazy("Minute"),
    "time": gettext_lazy("Time"),
    "days": gettext_lazy("Days"),
    "every": gettext_lazy("Repeat every"),
    "day": gettext_lazy("Day of the month"),
    "nth": gettext_lazy("Which"),
    "weekday": gettext_lazy("Weekday"),
    "month": gettext_lazy("Month"),
    "year_day": gettext_lazy("Day"),
    "interval_every": gettext_lazy("Every"),
    "interval_unit": gettext_lazy("Unit"),
    "expression": gettext_lazy("Expression"),
    "dtstart": gettext_lazy("From"),
    "rule": gettext_lazy("Recurrence rule"),
    "zone": gettext_lazy("Time zone"),
    "ends": gettext_lazy("Ends"),
    "until_date": gettext_lazy("End date"),
    "until_time": gettext_lazy("End time"),
    "max_runs": gettext_lazy("Runs"),
    "overlap_policy": gettext_lazy("If unfinished"),
    "misfire_policy": gettext_lazy("If missed"),
    "misfire_grace_minutes": gettext_lazy("Missed after (minutes)"),
    "deadline_minutes": gettext_lazy("Stop after (minutes)"),
    "retry_window_minutes": gettext_lazy("Try again for (minutes)"),
    "notify_on": gettext_lazy("Tell me"),
    "enabled": gettext_lazy("On"),
}
_NOT_CARRIED = ("csrfmiddlewaretoken", "revision", "resolve")


def conflict_view(*, schedule: Schedule, post: QueryDict, reader: Reader) -> dict[str, Any]:
    """Return the fields in which the two versions differ, and everything typed, to be sent again."""
    mine, saved = typed(post, reader, schedule), body_to_form(schedule)
    differing = [
        {"label": str(label), "mine": _shown(schedule, name, mine), "saved": _shown(schedule, name, saved)}
        for name, label in _LABELS.items()
        if name in post or name in ("days", "enabled")
        if _shown(schedule, name, mine) != _shown(schedule, name, saved) and _matters(name, mine, saved)
    ]
    return {
        "name": schedule.name,
        "revision": schedule.revision,
        "started": post.get("revision", ""),
        "at": reader.short(schedule.updated_at),
        "rows": differing,
        "typed": [(name, value) for name in post if name not in _NOT_CARRIED for value in post.getlist(name)],
    }


def _matters(name: str, mine: dict[str, Any], saved: dict[str, Any]) -> bool:
    """Leave out timing fields of kinds that neither version has: a form fills them for nothing."""
    return bool(saved.get(name)) or name in ("project", "enabled") or mine["kind"] != saved["kind"]


def _shown(schedule: Schedule, name: str, values: dict[str, Any]) -> str:
    value = values.get(name)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        return ", ".join(value)
    if name == "agent":
        agent = agent_find(schedule.owner, str(value))
        return agent.name if agent is not None else schedule.agent.name or str(value)
    if name == "project":
        project = project_find(schedule.owner, str(value)) if value else None
        return project.name if project is not None else _("No project")
    return str(value or "")
