"""How project policies of deployment, groups and user combine. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.text import fold

MOST_KEY = 400


@dataclass(frozen=True)
class Resolved:
    """The requirement and the pin of one owner, before the pin is looked up among the owner's projects."""

    require_project: bool
    require_source: str
    pin_name: str
    pin_project: int | None
    pin_source: str

    @property
    def pinned(self) -> bool:
        return bool(self.pin_name) or self.pin_project is not None


def name_key(name: str) -> str:
    """Return what must be unique per owner: the name trimmed, NFC and case-folded; its digest when that is long.

    PostgreSQL refuses index entries beyond 2,704 bytes, which a hundred compound emoji exceed.
    """
    key = fold(name)
    return key if len(key) <= MOST_KEY else "sha256:" + hashlib.sha256(key.encode()).hexdigest()


def says_pin(row: Mapping[str, Any]) -> bool:
    """Return whether `row` decides about the pin: a name, a project, or an empty name for "no pin here"."""
    return row["pinned_name"] is not None or row["pinned_project_id"] is not None


def resolve_policy(
    *, deployment: Mapping[str, Any] | None, groups: Iterable[Mapping[str, Any]], user: Mapping[str, Any] | None
) -> Resolved:
    """Combine the scopes: null inherits, the most specific wins (also to relax), of several groups the strictest.

    Of groups that pin differently the first in the order given decides, so that the answer is always the same one.
    """
    group_rows = list(groups)
    require, require_source = False, "default"
    pin: Mapping[str, Any] | None = None
    pin_source = "default"
    if deployment and deployment["require_project"] is not None:
        require, require_source = deployment["require_project"], "deployment"
    if deployment and says_pin(deployment):
        pin, pin_source = deployment, "deployment"
    said = [row["require_project"] for row in group_rows if row["require_project"] is not None]
    if said:
        require, require_source = any(said), "group"
    pinning = sorted((row for row in group_rows if says_pin(row)), key=lambda row: not _names_one(row))
    if pinning:
        pin, pin_source = pinning[0], "group"
    if user and user["require_project"] is not None:
        require, require_source = user["require_project"], "user"
    if user and says_pin(user):
        pin, pin_source = user, "user"
    return Resolved(
        require_project=require,
        require_source=require_source,
        pin_name=(pin["pinned_name"] or "") if pin else "",
        pin_project=pin["pinned_project_id"] if pin else None,
        pin_source=pin_source,
    )


def _names_one(row: Mapping[str, Any]) -> bool:
    return bool(row["pinned_name"]) or row["pinned_project_id"] is not None
