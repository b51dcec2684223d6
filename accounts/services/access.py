"""What operators decide about people: whether they may sign in, operate, and which rights they hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.domain.limits import NAMES
from accounts.models import LimitSet, User
from accounts.services.audit import audit, audit_changed
from core.db import serialised
from core.errors import FieldError, Refusal

SWITCHES = ("is_active", "is_staff", "is_superuser")
_OPERATORS = 0x51754F34


def access_set(
    *,
    user: User,
    values: Mapping[str, bool],
    groups: Collection[Group] | None = None,
    permissions: Collection[Permission] | None = None,
    actor: User | None = None,
    now: datetime,
) -> User:
    """Set any of `is_active`, `is_staff`, `is_superuser`, and the groups and permissions when they are given.

    Who is inactive cannot sign in, and nothing of theirs fires (gate row 3); nothing is deleted by it. Raises Refusal
    `last_operator` at the switch that would leave nobody to operate.
    """
    unknown = set(values) - set(SWITCHES)
    if unknown:
        raise ValueError(f"not a switch of a person: {', '.join(sorted(unknown))}")
    with serialised(_OPERATORS):
        operators = User.objects.filter(is_active=True, is_staff=True, is_superuser=True)
        operated = operators.filter(pk=user.pk).exists()
        before = _rights(user, groups is not None, permissions is not None)
        User.objects.filter(pk=user.pk).update(**values)
        user.refresh_from_db(fields=SWITCHES)
        if operated and not operators.exists():
            raise Refusal.at(next(name for name in SWITCHES if values.get(name) is False), "last_operator")
        if groups is not None:
            user.groups.set(groups)
        if permissions is not None:
            user.user_permissions.set(permissions)
        after = _rights(user, groups is not None, permissions is not None)
        audit_changed(act="user.access", actor=actor, subject=user, before=before, after=after, now=now)
    return user


def _rights(user: User, groups: bool, permissions: bool) -> dict[str, Any]:
    """Return what binds and frees a person, as it is stored now."""
    shown: dict[str, Any] = User.objects.filter(pk=user.pk).values(*SWITCHES).get()
    if groups:
        shown["groups"] = list(user.groups.order_by("name").values_list("name", flat=True))
    if permissions:
        shown["rights"] = list(user.user_permissions.order_by("codename").values_list("codename", flat=True))
    return shown


def may_set_password(actor: User, user: User) -> bool:
    """Return whether `actor` may give `user` a password: who holds all rights may, others not for a fellow operator.

    A password is all it takes to act with the rights of its owner.
    """
    return actor.is_superuser or actor.pk == user.pk or not (user.is_staff or user.is_superuser)


def password_set(*, user: User, password: str, actor: User | None = None, now: datetime) -> User:
    """Give `user` another password; every session that was signed in with the old one ends.

    Raises Refusal `password_weak` at `password`, `permission_denied` for an `actor` who may not (`may_set_password`).
    """
    if actor is not None and not may_set_password(actor, user):
        raise Refusal("permission_denied")
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Refusal.of(
            [FieldError("password", "password_weak", {"problem": text}) for text in error.messages]
        ) from error
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        audit(act="user.password", actor=actor, subject=user, now=now)
    return user


def limits_forget(*, row: LimitSet, actor: User | None = None, now: datetime) -> None:
    """Remove the limits of one scope: from now on everything there is inherited."""
    with transaction.atomic():
        held = LimitSet.objects.filter(pk=row.pk).first()
        if held is not None:
            before = {name: getattr(held, name) for name in NAMES if getattr(held, name) is not None}
            audit(act="limitset.removed", actor=actor, subject=held, before=before, now=now)
            held.delete()
