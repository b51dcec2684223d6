"""Plain dictionaries as wire.md names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from accounts.domain.limits import Limits
from accounts.models import User
from core.wire import instant, plain, pretty
from projects.domain.destination import Policy
from projects.models import ChatProject
from projects.selectors import filed_counts, projects_of

Json = dict[str, Any]


def project_out(project: ChatProject, counts: Mapping[str, int]) -> Json:
    """Return the wire shape of a project; `counts` by noun, as `selectors.filed_counts` gives them."""
    return {
        "id": project.public_id,
        "name": project.name,
        "description": project.description,
        "colour": project.colour,
        "archived": project.archived_at is not None,
        "conversation_count": counts.get("conversations", 0),
        "schedule_count": counts.get("schedules", 0),
        "created_at": instant(project.created_at),
        "updated_at": instant(project.updated_at),
    }


def limits_out(limits: Limits, policy: Policy, pin: str | None, used: Mapping[str, int]) -> Json:
    """Return every limit with its source, requirement and pin among them, beside what is used up (wire.md, Limits).

    `pin` is the public id of the pinned project; null with a name when the owner does not have it.
    """
    shown: Json = {name: {"value": plain(limit.value), "source": limit.source} for name, limit in limits.values.items()}
    shown["require_project"] = {"value": policy.require_project, "source": policy.require_source}
    pinned = {"id": pin, "name": policy.pin_name} if policy.pinned else None
    shown["pinned_project"] = {"value": pinned, "source": policy.pin_source}
    return shown | dict(used)


def projects_export(user: User) -> Iterator[tuple[str, str]]:
    """Yield the person's projects as one file, for `core.registry.register_exporter`."""
    projects = list(projects_of(user).order_by("pk"))
    counts = filed_counts([project.pk for project in projects])
    yield "projects.json", pretty([project_out(project, counts[project.pk]) for project in projects])
