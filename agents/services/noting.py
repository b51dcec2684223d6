"""What the audit log says of providers, models and agents: never a key, never what an agent is told to be."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.db import models

from accounts.models import User
from accounts.services.audit import HIDDEN, audit, audit_changed, told
from agents.models import Agent

_KEPT_BACK = ("key_encrypted", "description", "instructions", "tools")
"""Columns of which only is said whether they are filled and that they changed."""


def note_saved(
    row: models.Model, *, before: models.Model | None, names: Collection[str], actor: User | None, now: datetime
) -> None:
    """Note that `row` was added (`before` is None) or that those of `names` changed that did."""
    kind = row._meta.model_name
    if before is None:
        shown = {name: _kept_back(row, name, None)[1] for name in names}
        audit(act=f"{kind}.added", actor=actor, subject=row, after=shown, now=now)
        return
    pairs = {name: _kept_back(row, name, before) for name in names}
    was, become = {name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()}
    audit_changed(act=f"{kind}.changed", actor=actor, subject=row, before=was, after=become, now=now)


def note_gone(row: models.Model, *, actor: User | None, now: datetime) -> None:
    """Note that `row` was deleted, whether a tombstone stays or not; called while it is there."""
    name = _shown(row, "name", getattr(row, "name", ""))
    audit(act=f"{row._meta.model_name}.removed", actor=actor, subject=row, before={"name": name}, now=now)


def _kept_back(row: models.Model, name: str, before: models.Model | None) -> tuple[Any, Any]:
    was, is_now = getattr(before, name, None) if before is not None else None, getattr(row, name)
    if name in _KEPT_BACK or (_own(row) and name == "name"):
        return told(was, is_now)
    return _shown(row, name, was), _shown(row, name, is_now)


def _shown(row: models.Model, name: str, value: Any) -> Any:
    """Return a value as an entry may hold it: an address without a password in it, no name of a person's own agent."""
    if name == "base_url" and isinstance(value, str) and value:
        parts = urlsplit(value)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    return HIDDEN if name == "name" and _own(row) and value else value


def _own(row: models.Model) -> bool:
    return isinstance(row, Agent) and row.owner_id is not None
