"""The schedules that file into a project, for the project's page."""

from __future__ import annotations

from typing import Any

from django import template

from core.human import Reader
from projects.models import ChatProject
from schedules.outputs.cards import next_view
from schedules.outputs.wire import description_of
from schedules.outputs.words import STATES
from schedules.selectors.lists import schedule_rows
from schedules.selectors.pages import schedules_in_project

register = template.Library()


@register.inclusion_tag("parts/filing.html")
def filed_schedules(project: ChatProject, reader: Reader) -> dict[str, Any]:
    """List the schedules that file into the project, with what comes next."""
    rows = schedule_rows(schedules_in_project(project))
    return {"rows": [_row(row, reader) for row in rows]}


def _row(row: Any, reader: Reader) -> dict[str, Any]:
    schedule = row.schedule
    return {
        "id": schedule.public_id,
        "name": schedule.name,
        "s": row.state,
        "word": str(STATES[row.state]),
        "cadence": description_of(schedule).removesuffix(f", {reader.zone}"),
        "next": next_view(schedule, row.state, reader, held=False),
    }
