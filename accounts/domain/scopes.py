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
    "audit:read",
)
_FIRE = re.compile(r"fire:[a-z0-9_]{1,40}")


def known(scope: str) -> bool:
    """Return whether a token may be made with `scope`: one that some act honours."""
    return scope in SCOPES or fire_scope(scope)


def fire_scope(scope: str) -> bool:
    """Return whether `scope` has the form `fire:<schedule>`: it starts that one schedule and reads nothing."""
    return bool(_FIRE.fullmatch(scope))


def fired(scope: str) -> str:
    """Return the id of the schedule that a fire scope names."""
    return scope.removeprefix("fire:")


def fires_only(scopes: Iterable[str]) -> bool:
    """Return whether `scopes` hold nothing but fire scopes: such a token reads nothing."""
    return all(scope.startswith("fire:") for scope in scopes)


def grants(held: Iterable[str], needed: Iterable[str]) -> bool:
    """Return whether one of `needed` is held; `any` is granted by everything but fire scopes."""
    scopes = set(held)
    return any(scope in scopes or (scope == "any" and not fires_only(scopes)) for scope in needed)
