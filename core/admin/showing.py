"""How values are shown on admin pages: instants in the operator's zone, links, texts as they stand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db.models import Model
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

EMPTY = "–"


def stamp(value: datetime | None) -> SafeString | str:
    """Return an instant as `<time>` in the operator's zone, to the second; the title names the zone."""
    if value is None:
        return EMPTY
    local = timezone.localtime(value)
    return format_html(
        '<time class="whitespace-nowrap" datetime="{}" title="{}">{}</time>',
        value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        f"{local:%A %d %B %Y, %H:%M:%S} {timezone.get_current_timezone_name()}",
        f"{local:%Y-%m-%d %H:%M:%S}",
    )


def page_of(row: Model) -> str:
    """Return the address of the admin page of `row`."""
    meta = row._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[row.pk])


def link(url: str, text: Any) -> SafeString:
    """Return a link with `text` escaped."""
    return format_html('<a class="quotidian-link" href="{}">{}</a>', url, text)


def shown_link(row: Model | None, text: Any = None) -> SafeString | str:
    """Return a link to the page of `row` named by `text` or its own name; a dash when there is none."""
    return EMPTY if row is None else link(page_of(row), str(row) if text is None else text)


def tag(word: Any, state: str) -> SafeString | str:
    """Return a state's word on its tint; `state` says which (as on cards and strips)."""
    return format_html('<span class="quotidian-tag" data-s="{}">{}</span>', state, word) if state else EMPTY


def unbroken(text: str) -> str:
    """Return a short figure with its unit on one line."""
    return text.replace(" ", "\u00a0")


def text_block(text: str) -> SafeString | str:
    """Return a text of several lines as it stands, escaped."""
    return format_html('<div class="quotidian-text">{}</div>', text) if text else EMPTY
