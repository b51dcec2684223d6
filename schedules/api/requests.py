"""What the API reads from a request: its body, preconditions and filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from rest_framework.request import Request

from core.errors import Refusal

_STRONG_TAG = re.compile(r'"([0-9]{1,10})"')
NEVER_A_REVISION = -1


def body_of(request: Request) -> Mapping[str, Any]:
    """Return the parsed body as sent; the API's parser takes nothing but one object."""
    body: Any = request.data
    return cast(Mapping[str, Any], body)


def if_match_of(request: Request, current: int) -> int | None:
    """Return the revision that `If-Match` demands, None when it demands nothing (RFC 9110, 13.1.1).

    Comparison is strong: a weak or unknown tag matches no revision. Of several the `current` one counts.
    """
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    tags = [_STRONG_TAG.fullmatch(part.strip()) for part in header.split(",")]
    revisions = [int(tag[1]) for tag in tags if tag is not None]
    if current in revisions:
        return current
    return revisions[0] if revisions else NEVER_A_REVISION


def choice_filter(query: Mapping[str, str], name: str, known: tuple[str, ...]) -> list[str]:
    """Return the words of a filter, several separated by commas. Raises Refusal `choice_unknown` at the filter."""
    words = [word.strip() for word in query.get(name, "").split(",")] if name in query else []
    if any(word not in known for word in words):
        raise Refusal.at(name, "choice_unknown", choices=", ".join(known))
    return words
