"""Accounts: making one, and the one-time link that makes the first operator."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, Permission
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from accounts.models import SetupLink, User
from accounts.selectors.deletions import owner_free
from accounts.services.audit import audit, audit_changed, told
from accounts.services.spend import credit_start
from core.db import serialised
from core.errors import FieldError, Refusal
from core.text import graphemes, has_nul, tidy
from core.walltime import zone_names

MEMBERS = "Members"
MEMBERS_MAY = ("use_schedules", "create_schedules")
LINK_LASTS = timedelta(hours=24)
_FIRST_OPERATOR = 0x51754F31


def user_create(
    *,
    email: str,
    password: str,
    operator: bool = False,
    zone: str | None = None,
    display_name: str = "",
    actor: User | None = None,
    now: datetime,
) -> User:
    """Make an account in the group "Members", which holds `use_schedules` and `create_schedules`.

    An operator may open the admin and change everything there. Raises Refusal with every field that cannot be used:
    `required`, `too_long`, `wrong_type`, `email_taken`, `password_weak`, `zone_unknown`.
    """
    user = User(
        email=User.objects.normalize_email(tidy(email)),
        display_name=tidy(display_name),
        zone=zone or "UTC",
        is_staff=operator,
        is_superuser=operator,
        date_joined=now,
    )
    errors = [*_email_errors(user.email), *_name_errors(user), *_password_errors(password, user)]
    if not zone_known(user.zone):
        errors.append(FieldError("zone", "zone_unknown", {"zone": user.zone}))
    if errors:
        raise Refusal.of(errors)
    user.set_password(password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
            user.groups.add(members_group())
            audit(act="user.added", actor=actor, subject=user, after={"operator": operator}, now=now)
            if settings.STARTING_CREDIT:
                credit_start(user=user, amount=settings.STARTING_CREDIT, now=now)
    except IntegrityError as error:
        raise Refusal.at("email", "email_taken") from error
    return user


def members_group() -> Group:
    """Return the group of everybody. When it is made, it gets its two permissions; later the operators decide."""
    group, made = Group.objects.get_or_create(name=MEMBERS)
    if made:
        allowed = Permission.objects.filter(content_type__app_label="accounts", codename__in=MEMBERS_MAY)
        group.permissions.add(*allowed)
    return group


def setup_link_make(*, now: datetime) -> str | None:
    """Return a new one-time token for the set-up page, or None when there is an account already.

    Only its digest is kept. It ends after use or 24 h; an earlier link that was not used ends now.
    """
    if User.objects.exists():
        return None
    token = secrets.token_urlsafe(32)
    with transaction.atomic():
        SetupLink.objects.filter(used_at=None).delete()
        SetupLink.objects.create(digest=_digest(token), created_at=now)
    return token


def setup_link_open(*, token: str, now: datetime) -> bool:
    """Return whether `token` still makes the first operator."""
    return _open_links(token, now).exists() and not User.objects.exists()


def setup_complete(
    *, token: str, email: str, password: str, zone: str | None = None, display_name: str = "", now: datetime
) -> User:
    """Make the first operator with the one-time link, which ends by it.

    Raises Refusal `setup_link_invalid` (410) when the link was used, is over 24 h old or unknown, or when an account
    exists: a second operator cannot be made by it. A refused field leaves the link usable.
    """
    with serialised(_FIRST_OPERATOR):
        if User.objects.exists() or not _open_links(token, now).update(used_at=now):
            raise Refusal("setup_link_invalid")
        return user_create(email=email, password=password, operator=True, zone=zone, display_name=display_name, now=now)


def profile_edit(
    *, user: User, values: Mapping[str, Any], actor: User | None = None, now: datetime | None = None
) -> User:
    """Change any of `display_name`, `zone`, `locale`, `clock`, `first_weekday`, `theme`; other columns stay untouched.

    An `actor` is an operator, whose act is noted at `now`; people who edit themselves have none. A new zone moves no
    schedule: each keeps its own. Raises Refusal with the fields that cannot be used.
    """
    errors = []
    for name, value in values.items():
        if name == "zone" and not zone_known(value):
            errors.append(FieldError(name, "zone_unknown", {"zone": value}))
        elif name == "locale" and value not in dict(settings.LANGUAGES):
            errors.append(FieldError(name, "choice_unknown", {"choices": ", ".join(dict(settings.LANGUAGES))}))
        setattr(user, name, tidy(value) if name == "display_name" else value)
    errors += _name_errors(user)
    if errors:
        user.refresh_from_db(fields=list(values))
        raise Refusal.of(errors)
    if values:
        with transaction.atomic():
            if actor is None and values.keys() - {"theme"}:
                owner_free(user.pk)
            before = User.objects.filter(pk=user.pk).values(*values).first() or {}
            user.save(update_fields=list(values))
            if actor is not None and now is not None:
                _noted(user, before, actor, now)
    return user


def _noted(user: User, before: Mapping[str, Any], actor: User, now: datetime) -> None:
    """Write what an operator changed of somebody's profile; a name is a person's own text."""
    was, become = dict(before), {name: getattr(user, name) for name in before}
    if "display_name" in was:
        was["display_name"], become["display_name"] = told(was["display_name"], become["display_name"])
    audit_changed(act="user.changed", actor=actor, subject=user, before=was, after=become, now=now)


def zone_known(name: str) -> bool:
    """Return whether the bundled zone data know `name`, old names included (B21, B22)."""
    return name in zone_names()


def _open_links(token: str, now: datetime):  # type: ignore[no-untyped-def]
    return SetupLink.objects.filter(digest=_digest(token), used_at=None, created_at__gt=now - LINK_LASTS)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _email_errors(email: str) -> list[FieldError]:
    if not email:
        return [FieldError("email", "required")]
    if len(email) > 254:
        return [FieldError("email", "too_long", {"actual": len(email), "most": 254})]
    try:
        validate_email(email)
    except ValidationError:
        return [FieldError("email", "wrong_type", {"expected": "an e-mail address"})]
    return [FieldError("email", "email_taken")] if User.objects.with_email(email).exists() else []


def _name_errors(user: User) -> list[FieldError]:
    if has_nul(user.display_name):
        return [FieldError("display_name", "wrong_type", {"expected": "text without NUL characters"})]
    if len(user.display_name) > 100:
        actual = graphemes(user.display_name)
        return [FieldError("display_name", "too_long", {"actual": actual, "most": 100})]
    return []


def _password_errors(password: str, user: User) -> list[FieldError]:
    if not password:
        return [FieldError("password", "required")]
    try:
        validate_password(password, user)
    except ValidationError as error:
        return [FieldError("password", "password_weak", {"problem": text}) for text in error.messages]
    return []
