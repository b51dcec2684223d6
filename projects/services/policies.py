"""Requirement and pin as operators set them. Nothing is pushed onto schedules: the gate pulls it at the next look."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Count

from accounts.models import User
from accounts.services.audit import HIDDEN, audit_changed
from core.errors import Refusal
from core.text import graphemes, has_nul, tidy
from projects.domain.policy import name_key
from projects.models import ChatProject, ProjectPolicy
from projects.selectors import POLICY_COLUMNS, Planned, people_lacking
from projects.services.projects import COLOURS, MOST_NAME, MOST_NAME_STORED

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
    wanted = _checked(values)
    with transaction.atomic():
        pin = wanted.get("pinned_project")
        if pin and create_missing:
            _create_missing(_blank(scope, group, user), pin, now)
        changes = _columns(wanted, user if scope == "user" else None)
        row, made = ProjectPolicy.objects.select_for_update().get_or_create(
            scope=scope, group=group, user=user, defaults={"updated_at": now}
        )
        before, pinned = {} if made else policy_told(row), row.pinned_project_id
        changes["updated_at"] = now
        for column, value in changes.items():
            setattr(row, column, value)
        row.save(update_fields=list(changes))
        act = "projectpolicy.added" if made else "projectpolicy.changed"
        if pinned and pinned != row.pinned_project_id:
            before["pinned_project"] = f"{HIDDEN} (before)"
        audit_changed(act=act, actor=actor, subject=row, before=before, after=policy_told(row), now=now)
    return row


def policy_planned(
    *,
    scope: str,
    group: Group | None = None,
    user: User | None = None,
    values: Mapping[str, Any],
    create_missing: bool = False,
) -> Planned:
    """Return the policy as `policy_set` would store it, to look at with `policies_for`. Writes nothing; raises alike."""
    wanted = _checked(values)
    row = ProjectPolicy.objects.filter(scope=scope, group=group, user=user).values(*POLICY_COLUMNS).first()
    planned = dict(row or _blank(scope, group, user))
    pin = wanted.get("pinned_project")
    made = name_key(pin) if pin and create_missing else ""
    if scope == "user" and made and people_lacking(planned, made).exists():
        planned |= _columns(wanted, None)
    else:
        planned |= _columns(wanted, user if scope == "user" else None)
    project = planned.pop("pinned_project", None)
    if "pinned_project" in wanted:
        planned["pinned_project_id"] = project.pk if project else None
    return Planned(row=planned, made=made)


def _blank(scope: str, group: Group | None, user: User | None) -> dict[str, Any]:
    owner = {"group_id": group.pk if group else None, "user_id": user.pk if user else None}
    return {"scope": scope, **owner, "require_project": None, "pinned_name": None, "pinned_project_id": None}


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are given, as they are meant. Raises Refusal."""
    for name in values:
        if name not in NAMES:
            raise Refusal.at(name, "limit_unknown", name=name)
    read = {"require_project": _switch, "pinned_project": _pin_name}
    return {name: read[name](value) for name, value in values.items()}


def _columns(wanted: Mapping[str, Any], user: User | None) -> dict[str, Any]:
    """Return the columns to write; the pin of `user` is one project, any other a name."""
    columns = {"require_project": wanted["require_project"]} if "require_project" in wanted else {}
    return columns | _pin_columns(user, wanted["pinned_project"]) if "pinned_project" in wanted else columns


def policy_told(row: ProjectPolicy) -> dict[str, Any]:
    """Return what the audit log says of a policy.

    The project that a person's pin names is their own; a name that a wider pin goes by is the operator's word.
    """
    pin: Any = HIDDEN if row.pinned_project_id else row.pinned_name
    return {"require_project": row.require_project, "pinned_project": pin}


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
    if has_nul(name):
        raise Refusal.at("pinned_project", "wrong_type", expected="text without NUL characters")
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


def _create_missing(row: Mapping[str, Any], name: str, now: datetime) -> None:
    """Make the project for everybody of the scope who lacks it; who makes it at the same time keeps theirs."""
    key = name_key(name)
    people = people_lacking(row, key).annotate(held=Count("projects", distinct=True)).values_list("pk", "held")
    ChatProject.objects.bulk_create(
        (
            ChatProject(owner_id=pk, name=name, name_key=key, colour=held % COLOURS + 1, created_at=now, updated_at=now)
            for pk, held in people.iterator()
        ),
        batch_size=500,
        ignore_conflicts=True,
    )
