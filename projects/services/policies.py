"""Requirement and pin as operators set them. Nothing is pushed onto schedules: the gate pulls it at the next look."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction

from accounts.models import User
from core.errors import Refusal
from core.text import graphemes, tidy
from projects.domain.policy import name_key
from projects.models import ChatProject, ProjectPolicy
from projects.services.projects import MOST_NAME, MOST_NAME_STORED, project_create

NAMES = ("require_project", "pinned_project")


def policy_set(
    *,
    scope: str,
    group: Group | None = None,
    user: User | None = None,
    values: Mapping[str, Any],
    create_missing: bool = False,
    actor: User | None = None,
    now: datetime,
) -> ProjectPolicy:
    """Set `require_project` (true, false, None to inherit) and `pinned_project` of one scope.

    `pinned_project` is a name: None inherits, an empty one says "no pin here" against a wider pin. For the deployment
    and groups it is resolved among each owner's own projects; `create_missing` makes it for every active person of
    the scope who lacks it. For a user it names one project of that user. Raises Refusal `limit_unknown`,
    `wrong_type`, `too_long`, `project_not_found`.
    """
    for name in values:
        if name not in NAMES:
            raise Refusal.at(name, "limit_unknown", name=name)
    changes: dict[str, Any] = {}
    if "require_project" in values:
        changes["require_project"] = _switch(values["require_project"])
    with transaction.atomic():
        if "pinned_project" in values:
            pin = _pin_name(values["pinned_project"])
            if pin and create_missing:
                _create_missing(scope, group, user, pin, now)
            changes |= _pin_columns(user if scope == "user" else None, pin)
        row, _ = ProjectPolicy.objects.select_for_update().get_or_create(scope=scope, group=group, user=user)
        for column, value in changes.items():
            setattr(row, column, value)
        row.save(update_fields=[*changes, "updated_at"])
    return row


def _switch(value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise Refusal.at("require_project", "wrong_type", expected="true, false or null")
    return value


def _pin_name(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Refusal.at("pinned_project", "wrong_type", expected="the name of a project")
    name = tidy(value)
    if len(name) > MOST_NAME_STORED or graphemes(name) > MOST_NAME:
        raise Refusal.at("pinned_project", "too_long", actual=graphemes(name), most=MOST_NAME)
    return name


def _pin_columns(user: User | None, name: str | None) -> dict[str, Any]:
    if user is None or not name:
        return {"pinned_name": name, "pinned_project": None}
    project = ChatProject.objects.filter(owner=user, name_key=name_key(name), deleted_at=None).first()
    if project is None:
        raise Refusal.at("pinned_project", "project_not_found")
    return {"pinned_name": None, "pinned_project": project}


def _create_missing(scope: str, group: Group | None, user: User | None, name: str, now: datetime) -> None:
    people = User.objects.filter(is_active=True)
    if scope == "group":
        people = people.filter(groups=group)
    elif scope == "user" and user is not None:
        people = people.filter(pk=user.pk)
    key = name_key(name)
    having = ChatProject.objects.filter(name_key=key, deleted_at=None).values("owner_id")
    for owner in people.exclude(pk__in=having):
        project_create(owner=owner, name=name, now=now)
