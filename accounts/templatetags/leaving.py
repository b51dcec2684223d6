"""The banner of every page while one's own account is being deleted."""

from __future__ import annotations

from typing import Any

from django import template

from accounts.selectors.deletions import deletion_of
from core.panel import reader_of

register = template.Library()


@register.inclusion_tag("parts/leaving.html", takes_context=True)
def leaving(context: template.Context) -> dict[str, Any]:
    """Say until when the deletion can be called off; nothing is said to somebody who is not signed in."""
    request = context.get("request")
    if request is None or not request.user.is_authenticated:
        return {"until": None}
    found = deletion_of(request.user.pk)
    return {"until": reader_of(request).stamp(found.not_before) if found else None}
