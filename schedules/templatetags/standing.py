"""The banner of every page: the global stop, or a clock that has gone silent."""

from __future__ import annotations

from typing import Any

from django import template

from core.panel import reader_of
from schedules.outputs.panel import banner_view
from schedules.selectors.panel import standing as read_standing

register = template.Library()


@register.inclusion_tag("parts/standing.html", takes_context=True)
def standing(context: template.Context) -> dict[str, Any]:
    """Say in a banner why nothing starts now; nothing is said to somebody who is not signed in."""
    panel = context.get("panel")
    if panel is not None:
        return {"banner": panel["banner"]}
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return {"banner": None}
    reader = reader_of(request)
    return {"banner": banner_view(read_standing(reader.now), reader)}
