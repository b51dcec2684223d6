"""The agent and the project that a body names, under the owner's rights and the operator's policy (P1 to P7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounts.models import User
from agents.models import Agent
from agents.selectors import usable_agents
from core.db import locked
from core.errors import FieldError
from projects.domain.destination import UNSENT, decide_write
from projects.models import ChatProject
from projects.selectors import policies_for, project_find
from schedules.models import Schedule

_NOT_THERE = -1
"""Stands for an id that is nobody's or somebody else's: the two are the same (P15)."""


def agent_decided(owner: User, sent: str | None, stored: Schedule | None) -> tuple[Agent | None, list[FieldError]]:
    """Return the agent named by `sent`, None when the stored one stays; and its refusal `agent_not_found`."""
    if sent is None or (stored is not None and stored.agent.public_id == sent):
        return None, []
    found = usable_agents(owner).filter(public_id=sent).first()
    return (found, []) if found is not None else (None, [FieldError("agent", "agent_not_found")])


def project_decided(
    owner: User, values: Mapping[str, Any], *, stored: Schedule | None, strict: bool
) -> tuple[int | None, list[FieldError]]:
    """Return the project id to store and its refusal. `strict`: a create, or an edit that leaves the schedule on.

    The projects concerned are locked, so that none is deleted between this answer and the write.
    """
    policy = policies_for([owner.pk])[owner.pk]
    old = stored.project_id if stored is not None else None
    sent = _sent(owner, values, stored)
    wanted = {pk for pk in (old, policy.pin_id, None if sent is UNSENT else sent) if pk is not None}
    rows = locked(ChatProject.objects.filter(owner=owner, deleted_at=None, pk__in=wanted).order_by("pk"))
    archived = dict(rows.values_list("pk", "archived_at")) if wanted else {}
    decision = decide_write(
        sent=sent,
        stored=old,
        strict=strict,
        policy=policy,
        existing=archived.keys(),
        pickable=[pk for pk, at in archived.items() if at is None],
    )
    if not decision.refused:
        return decision.stored, []
    params = {"project": policy.pin_name} if decision.refused == "project_pinned" else {}
    return old, [FieldError("project", decision.refused, params)]


def _sent(owner: User, values: Mapping[str, Any], stored: Schedule | None) -> Any:
    """Return UNSENT, None, or the primary key that the sent id stands for."""
    if "project" not in values:
        return UNSENT
    sent = values["project"]
    if sent is None:
        return None
    if stored is not None and stored.project is not None and stored.project.public_id == sent:
        return stored.project_id
    found = project_find(owner, sent)
    return found.pk if found is not None else _NOT_THERE
