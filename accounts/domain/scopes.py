"""What a token may do. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

SCOPES = (
    "schedules:read",
    "schedules:write",
    "runs:read",
    "runs:write",
    "conversations:read",
    "conversations:write",
)
_FIRE = re.compile(r"fire:[a-z0-9_]{1,40}")


def known(scope: str) -> bool:
    """Return whether `scope` exists: one of the fixed ones, or `fire:<schedule>`, which starts that one schedule."""
    return scope in SCOPES or bool(_FIRE.fullmatch(scope))


def fires_only(scopes: Iterable[str]) -> bool:
    """Return whether `scopes` hold nothing but fire scopes: such a token reads nothing."""
    return all(scope.startswith("fire:") for scope in scopes)


def grants(held: Iterable[str], needed: Iterable[str]) -> bool:
    """Return whether one of `needed` is held; `any` is granted by everything but fire scopes."""
    scopes = set(held)
    return any(scope in scopes or (scope == "any" and not fires_only(scopes)) for scope in needed)
