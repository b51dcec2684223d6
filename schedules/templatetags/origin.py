"""Where a conversation comes from: the run, its schedule, the runs before and after."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.translation import gettext as _

from chats.models import Conversation
from core.human import Reader
from schedules.outputs.words import outcome_word
from schedules.selectors.pages import conversation_run, neighbours

register = template.Library()


@register.inclusion_tag("parts/origin.html")
def origin_badge(conversation: Conversation, state: str, reader: Reader) -> dict[str, Any]:
    """Say "Run of Mon 08:00 from <schedule>", with links to the runs before and after and to the schedule."""
    run = conversation_run(conversation)
    if run is None:
        return {"s": state, "text": _("Started by you") if conversation.origin == "person" else ""}
    before, after = neighbours(run)
    schedule = run.schedule
    return {
        "s": run.status,
        "word": outcome_word(run.status),
        "at": reader.stamp(run.scheduled_for),
        "kind": run.kind,
        "name": schedule.name if schedule else run.name,
        "schedule": schedule.public_id if schedule and schedule.deleting_at is None else "",
        "before": _near(before, reader),
        "after": _near(after, reader),
        "coming": reader.stamp(schedule.next_occurrence_at)
        if schedule and schedule.next_occurrence_at and after is None
        else None,
    }


def _near(run: Any, reader: Reader) -> dict[str, Any] | None:
    if run is None:
        return None
    return {"id": run.conversation.public_id, "at": reader.stamp(run.scheduled_for)}
