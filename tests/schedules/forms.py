"""Forms as a browser without scripts posts them: from values, or as read from a page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.http import QueryDict


def posted(form: dict[str, Any]) -> QueryDict:
    """Return `form` as a browser posts it: ticked boxes as `on`, unticked ones not at all, CRLF in text areas."""
    post = QueryDict(mutable=True)
    for name, value in form.items():
        if isinstance(value, bool):
            if value:
                post[name] = "on"
        elif isinstance(value, list):
            post.setlist(name, value)
        else:
            post[name] = value.replace("\n", "\r\n") if name == "prompt" else value
    return post


class PageForm(HTMLParser):
    """Collects what a press of the first button of the form `form_id` would post: `posted` by field name."""

    def __init__(self, page: str, form_id: str) -> None:
        super().__init__()
        self.form_id, self.inside = form_id, False
        self.posted: dict[str, list[str]] = {}
        self._select: str | None = None
        self._options: list[tuple[str, bool]] = []
        self._area: str | None = None
        self._text = ""
        self.feed(page)

    def _add(self, name: str, value: str) -> None:
        self.posted.setdefault(name, []).append(value)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value if value is not None else "" for name, value in attrs}
        if tag == "form":
            self.inside = given.get("id") == self.form_id
        elif not self.inside or ("disabled" in given and tag != "option"):
            return
        elif tag == "input" and "name" in given:
            kind = given.get("type", "text")
            if kind not in ("checkbox", "radio", "submit", "button") or "checked" in given:
                self._add(given["name"], given.get("value", "on" if kind == "checkbox" else ""))
        elif tag == "select":
            self._select, self._options = given.get("name"), []
        elif tag == "option" and self._select:
            self._options.append((given.get("value", ""), "selected" in given))
        elif tag == "textarea":
            self._area, self._text = given.get("name"), ""

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "select" and self._select:
            chosen = [value for value, selected in self._options if selected] or [v for v, _ in self._options[:1]]
            for value in chosen[-1:]:
                self._add(self._select, value)
            self._select = None
        elif tag == "textarea" and self._area:
            self._add(self._area, self._text.removeprefix("\n").replace("\n", "\r\n"))
            self._area = None
