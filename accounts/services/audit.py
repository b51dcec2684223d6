"""The audit log: what operators and policy did, written in the transaction of the act, naming people by key (A6)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import models, transaction

from accounts.models import AuditEntry, AuditSubject, PersonKey, User
from core.asking import asking
from core.wire import plain

HIDDEN = "…"
"""Stands for a text in `before` and `after`: that it changed is said, what it says is not."""


def audit(
    *,
    act: str,
    actor: Any = None,
    subject: models.Model | None = None,
    whom: User | int | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    now: datetime,
) -> AuditEntry:
    """Add one entry: `actor` (nobody for a command) did `act` to `subject`, which belongs to `whom`.

    Runs in the transaction of the act: what is not done is not noted, and what cannot be noted is not done. Without
    `whom` the subject's own user or owner is taken. `before` and `after` are trusted to hold no text of people:
    callers pass such a column through `told`.
    """
    person = _owner_of(subject) if whom is None else whom
    whose = _key_of(person)
    own = isinstance(subject, User)
    with transaction.atomic():
        entry = AuditEntry.objects.create(
            at=now,
            act=act,
            who=getattr(_key_of(actor), "key", ""),
            source=asking().source,
            request_id=asking().request_id,
            whom=whose.key if whose else "",
            kind=str(subject._meta.model_name) if subject is not None else "",
            subject=_id_of(subject) if subject is not None and whose is None else "",
            before=_plain(before),
            after=_plain(after),
        )
        if whose is not None and subject is not None and not own:
            AuditSubject.objects.create(entry=entry, person=whose, public_id=_id_of(subject))
    return entry


def audit_changed(
    *,
    act: str,
    actor: Any = None,
    subject: models.Model,
    whom: User | int | None = None,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    now: datetime,
) -> AuditEntry | None:
    """Add one entry with those values of `before` and `after` that differ; None when none does: that was no act."""
    names = [name for name in after if name not in before or before[name] != after[name]]
    if not names:
        return None
    return audit(
        act=act,
        actor=actor,
        subject=subject,
        whom=whom,
        before={name: before[name] for name in names if name in before},
        after={name: after[name] for name in names},
        now=now,
    )


def told(before: Any, after: Any) -> tuple[Any, Any]:
    """Return what may be said of a text of people that went from `before` to `after`: whether, and that it changed."""
    if before == after:
        return (HIDDEN, HIDDEN) if before else ("", "")
    return (f"{HIDDEN} (before)" if before else "", HIDDEN if after else "")


def person_key(user: User | int) -> str:
    """Return the random name of a person in the log; made at the first need."""
    return _key(user).key


def person_forget(*, user: User | int) -> None:
    """Erase the person's random name and every id of theirs from the log; its entries stay, nameless (A6)."""
    with transaction.atomic():
        AuditSubject.objects.filter(person__user=user).delete()
        PersonKey.objects.filter(user=user).delete()


def _key_of(person: Any) -> PersonKey | None:
    if person is None or isinstance(person, AnonymousUser):
        return None
    return _key(person)


def _key(user: User | int) -> PersonKey:
    pk = user if isinstance(user, int) else user.pk
    return PersonKey.objects.get_or_create(user_id=pk)[0]


def _owner_of(subject: models.Model | None) -> int | None:
    """Return whose `subject` is: the person themself, its user or its owner."""
    if subject is None or isinstance(subject, User):
        return subject.pk if subject is not None else None
    owner: int | None = getattr(subject, "owner_id", None) or getattr(subject, "user_id", None)
    return owner


def _id_of(subject: models.Model) -> str:
    return str(getattr(subject, "public_id", "") or subject.pk)[:40]


def _plain(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: _value(value) for name, value in (values or {}).items()}


def _value(value: Any) -> Any:
    """Return `value` as JSON holds it; a row becomes its id, a person their key."""
    if isinstance(value, User):
        return person_key(value)
    return plain(_id_of(value) if isinstance(value, models.Model) else value)
