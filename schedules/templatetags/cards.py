"""A card as HTML, kept as long as it looks the same: lists of many cards are mostly cards that did not change."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

from django import template
from django.template.loader import get_template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

register = template.Library()

_MOST_KEPT = 2_000


class _Kept:
    """The newest cards by language and version; nothing in a card belongs to one request."""

    def __init__(self) -> None:
        self._cards: OrderedDict[tuple[str | None, str], SafeString] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[str | None, str]) -> SafeString | None:
        with self._lock:
            if key in self._cards:
                self._cards.move_to_end(key)
            return self._cards.get(key)

    def put(self, key: tuple[str | None, str], html: SafeString) -> None:
        with self._lock:
            self._cards[key] = html
            if len(self._cards) > _MOST_KEPT:
                self._cards.popitem(last=False)


_kept = _Kept()


@register.simple_tag
def schedule_card(card: dict[str, Any]) -> SafeString:
    """Write the card; one that the asker has already is named only."""
    if card.get("keep"):
        return format_html('<article class="card" id="s-{}" data-keep></article>', card["id"])
    key = (get_language(), card["v"])
    html = _kept.get(key) or SafeString()
    if not html:
        base, new = reverse("schedules:detail", args=[card["id"]]), reverse("schedules:create")
        html = mark_safe(get_template("schedules/card.html#card").render({"card": card, "base": base, "new": new}))
        _kept.put(key, html)
    return html
