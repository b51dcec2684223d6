"""The conversations that are filed in a project, for the project's page."""

from __future__ import annotations

from typing import Any

from django import template

from chats.panel.pages import list_view
from chats.selectors.reading import conversations_page
from core.human import Reader
from projects.models import ChatProject

register = template.Library()


@register.inclusion_tag("chats/list.html#rows")
def filed_conversations(project: ChatProject, reader: Reader) -> dict[str, Any]:
    """List the newest conversations of the project."""
    found, _more = conversations_page(project.owner, project=project)
    return {"rows": list_view(found, reader), "pane": True, "filed": True}
