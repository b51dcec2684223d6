"""Reads of projects and of the policy that binds their owners. Every read is scoped to the owner (P15)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import User
from core.registry import project_holders
from projects.domain.destination import Policy
from projects.domain.policy import Resolved, name_key, resolve_policy
from projects.models import ChatProject, ProjectPolicy

POLICY_COLUMNS = ("scope", "group_id", "user_id", "require_project", "pinned_name", "pinned_project_id")


@dataclass(frozen=True)
class ProjectFacts:
    """What a decision needs to know about one project; a deleted one is a tombstone without a name."""

    id: int
    public_id: str
    name: str
    owner_id: int
    archived: bool
    deleted: bool


TO_BE_MADE = 0
"""Stands in a planned policy for the id of a project that is made when the policy is set; no row has it."""


@dataclass(frozen=True)
class Planned:
    """A policy as it would be: `row` stands in place of the stored one of its scope.

    `made` is the name key of the project that every active person of the scope who lacks it would get; empty: none.
    """

    row: Mapping[str, Any]
    made: str = ""


def projects_of(owner: User) -> QuerySet[ChatProject]:
    """Return the owner's projects that are not deleted, archived ones included."""
    return ChatProject.objects.filter(owner=owner, deleted_at=None)


def projects_count(user_id: int) -> int:
    """Return how many projects the person has, archived ones included."""
    return ChatProject.objects.filter(owner=user_id, deleted_at=None).count()


def project_find(owner: User, public_id: str) -> ChatProject | None:
    """Return the owner's project, or None when it is not there or somebody else's (P15)."""
    return projects_of(owner).filter(public_id=public_id).first()


def project_facts(project_ids: Collection[int]) -> dict[int, ProjectFacts]:
    """Return the facts of `project_ids` in one query; an id that no row has is absent."""
    rows = ChatProject.objects.filter(pk__in=list(project_ids)).values_list(
        "pk", "public_id", "name", "owner_id", "archived_at", "deleted_at"
    )
    return {
        pk: ProjectFacts(pk, public_id, name, owner_id, archived is not None, deleted is not None)
        for pk, public_id, name, owner_id, archived, deleted in rows
    }


def policies_for(owner_ids: Collection[int], *, planned: Planned | None = None) -> dict[int, Policy]:
    """Return the policy that binds each owner, in three queries at most; `planned` as if it were stored already.

    A pin given by name is looked up among each owner's own projects; one that is gone or somebody else's leaves
    `pin_id` empty (P8: refused, never silently "none").
    """
    ids = list(owner_ids)
    if not ids:
        return {}
    deployment, by_group, by_user = _rows(ids, planned)
    groups: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    if by_group:
        memberships = User.groups.through.objects.filter(user_id__in=ids, group_id__in=list(by_group))
        for user_id, group_id in memberships.values_list("user_id", "group_id").order_by("group_id"):
            groups[user_id].append(by_group[group_id])
    resolved = {
        owner: resolve_policy(deployment=deployment, groups=groups[owner], user=by_user.get(owner)) for owner in ids
    }
    return _with_pins(resolved, planned)


def people_lacking(row: Mapping[str, Any], key: str) -> QuerySet[User]:
    """Return the active people of the scope of a policy `row` who have no project of the name `key`."""
    people = User.objects.filter(is_active=True)
    if row["scope"] == "group":
        people = people.filter(groups=row["group_id"])
    elif row["scope"] == "user":
        people = people.filter(pk=row["user_id"])
    having = ChatProject.objects.filter(name_key=key, deleted_at=None).values("owner_id")
    return people.exclude(pk__in=having)


def policy_of(owner: User) -> Policy:
    """Return the policy that binds `owner`."""
    return policies_for([owner.pk])[owner.pk]


def _rows(
    ids: list[int], planned: Planned | None
) -> tuple[Mapping[str, Any] | None, dict[int, Mapping[str, Any]], dict[int, Mapping[str, Any]]]:
    deployment: Mapping[str, Any] | None = None
    by_group: dict[int, Mapping[str, Any]] = {}
    by_user: dict[int, Mapping[str, Any]] = {}
    every = ProjectPolicy.objects.exclude(scope="user") | ProjectPolicy.objects.filter(user_id__in=ids)
    rows: list[Mapping[str, Any]] = list(every.values(*POLICY_COLUMNS))
    for row in [*rows, planned.row] if planned else rows:
        if row["scope"] == "deployment":
            deployment = row
        elif row["scope"] == "group":
            by_group[row["group_id"]] = row
        else:
            by_user[row["user_id"]] = row
    return deployment, by_group, by_user


def _with_pins(resolved: Mapping[int, Resolved], planned: Planned | None) -> dict[int, Policy]:
    """Find the pinned projects of all owners at once, those that a planned policy would make included."""
    pinned = {owner: r for owner, r in resolved.items() if r.pinned}
    by_key: dict[tuple[int, str], tuple[int, str]] = {}
    by_id: dict[tuple[int, int], tuple[int, str]] = {}
    if pinned:
        wanted_ids = {r.pin_project for r in pinned.values() if r.pin_project is not None}
        wanted_keys = {name_key(r.pin_name) for r in pinned.values() if r.pin_name}
        live = ChatProject.objects.filter(owner_id__in=list(pinned), deleted_at=None)
        found = live.filter(name_key__in=wanted_keys) | live.filter(pk__in=wanted_ids)
        for pk, owner, key, name in found.values_list("pk", "owner_id", "name_key", "name"):
            by_key[owner, key] = by_id[owner, pk] = (pk, name)
    if planned and planned.made and pinned:
        lacking = people_lacking(planned.row, planned.made).filter(pk__in=list(pinned))
        for owner in lacking.values_list("pk", flat=True):
            by_key[owner, planned.made] = (TO_BE_MADE, pinned[owner].pin_name)
    policies: dict[int, Policy] = {}
    for owner, r in resolved.items():
        by_pin = by_id.get((owner, r.pin_project)) if r.pin_project is not None else None
        pin = by_pin or (by_key.get((owner, name_key(r.pin_name))) if r.pin_name else None)
        policies[owner] = Policy(
            require_project=r.require_project,
            pinned=r.pinned,
            pin_id=pin[0] if pin else None,
            pin_name=pin[1] if pin else r.pin_name,
            require_source=r.require_source,
            pin_source=r.pin_source,
        )
    return policies


def filed_counts(project_ids: Collection[int]) -> dict[int, dict[str, int]]:
    """Return how much is filed in each project, by noun (`conversations`, `schedules`); one query a noun."""
    ids = list(project_ids)
    counts: dict[int, dict[str, int]] = {pk: {} for pk in ids}
    for noun, holder in project_holders().items() if ids else ():
        for pk, number in holder.counts(ids).items():
            counts[pk][noun] = number
    return counts


def filed_names(project: ChatProject) -> dict[str, list[str]]:
    """Return what the confirmation of a deletion names, by noun: at most 50 of each."""
    return {noun: holder.names(project.pk) for noun, holder in project_holders().items()}


def projects_matching(owner: User, *, archived: bool | None = None, text: str = "") -> QuerySet[ChatProject]:
    """Return the owner's projects, only archived or only open ones if asked, whose name or description has `text`."""
    rows = projects_of(owner)
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    if text:
        rows = rows.filter(
            Q(name__icontains=text) | Q(name_key__contains=name_key(text)) | Q(description__icontains=text)
        )
    return rows
