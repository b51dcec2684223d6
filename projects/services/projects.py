"""What an owner does with projects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import User
from accounts.selectors.deletions import owner_free
from accounts.services.idempotency import made_gone
from core.db import locked
from core.errors import FieldError, Refusal
from core.registry import project_holders
from core.text import graphemes, has_nul, tidy
from projects.domain.destination import UNSENT, Unsent
from projects.domain.policy import name_key
from projects.models import ChatProject
from projects.selectors import policy_of

MOST_NAME = 100
MOST_NAME_STORED = 1000
MOST_DESCRIPTION = 1000
COLOURS = 8


def project_create(
    *, owner: User, name: str, description: str = "", colour: int | None = None, now: datetime
) -> ChatProject:
    """Make a project. Raises Refusal: `required`, `too_long`, `wrong_type`, `out_of_range`, `name_taken` at the field.

    Without a colour the next one of the eight is taken.
    """
    if colour is None:
        colour = ChatProject.objects.filter(owner=owner).count() % COLOURS + 1
    values = _checked({"name": name, "description": description, "colour": colour})
    project = ChatProject(owner=owner, name_key=name_key(values["name"]), created_at=now, updated_at=now, **values)
    try:
        with transaction.atomic():
            owner_free(owner.pk)
            project.save(force_insert=True)
    except IntegrityError as error:
        raise Refusal.at("name", "name_taken", name=values["name"]) from error
    return project


def project_edit(*, project: ChatProject, values: Mapping[str, Any], now: datetime) -> ChatProject:
    """Change any of `name`, `description`, `colour`, `archived`; an edit that changes nothing writes nothing.

    Raises Refusal as `project_create` does, and `project_pinned` (409) for a new name or archiving under a pin.
    """
    given = dict(values)
    archived = given.pop("archived", None)
    wanted = _checked(given)
    try:
        with transaction.atomic():
            owner_free(project.owner_id)
            current = _locked(project)
            if archived is not None and archived != (current.archived_at is not None):
                wanted["archived_at"] = now if archived else None
            changed = {name: value for name, value in wanted.items() if getattr(current, name) != value}
            if not changed:
                return current
            if "name" in changed or changed.get("archived_at") is not None:
                _refuse_pinned(current)
            if "name" in changed:
                changed["name_key"] = name_key(changed["name"])
            changed["updated_at"] = now
            for name, value in changed.items():
                setattr(current, name, value)
            current.save(update_fields=list(changed))
            return current
    except IntegrityError as error:
        raise Refusal.at("name", "name_taken", name=wanted.get("name", "")) from error


def project_archive(*, project: ChatProject, archived: bool = True, now: datetime) -> ChatProject:
    """Hide the project from pickers, or bring it back. Schedules that file into it keep running."""
    return project_edit(project=project, values={"archived": archived}, now=now)


def project_delete(*, project: ChatProject, move_to: ChatProject | Unsent | None = UNSENT, now: datetime) -> None:
    """Leave a content-free tombstone; conversations stay, loose.

    `move_to` says where the schedules that file into it go in the same act: a project of the owner, None for none;
    unsent leaves them pointing at the tombstone, and their next fire is refused (P8). Raises Refusal `project_pinned`
    (409) under a pin, `project_not_found` at `move_to` for one that is not the owner's, archived or the same.
    """
    if isinstance(move_to, ChatProject):
        usable = move_to.owner_id == project.owner_id and move_to.archived_at is None and move_to.deleted_at is None
        if not usable or move_to.pk == project.pk:
            raise Refusal.at("move_to", "project_not_found")
    with transaction.atomic():
        locked(User.objects.filter(pk=project.owner_id)).first()  # lock order: user, project, conversation, schedule
        current = _locked(project)
        _refuse_pinned(current)
        target = move_to.pk if isinstance(move_to, ChatProject) else None
        for holder in project_holders().values():
            holder.project_going(current.pk, moves=move_to is not UNSENT, move_to=target, now=now)
        ChatProject.objects.filter(pk=current.pk).update(
            name="", name_key="", description="", colour=1, archived_at=None, deleted_at=now, updated_at=now
        )
        made_gone(made=[current.public_id], now=now)


def _locked(project: ChatProject) -> ChatProject:
    """Return the row as it is now, locked; a deleted one is not there."""
    current = locked(ChatProject.objects.filter(pk=project.pk, deleted_at=None)).select_related("owner").first()
    if current is None:
        raise Refusal("not_found")
    return current


def _refuse_pinned(project: ChatProject) -> None:
    if policy_of(project.owner).pin_id == project.pk:
        raise Refusal("project_pinned", status=409, project=project.name)


def _checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as they are stored. Raises Refusal with every field that cannot be used."""
    checked: dict[str, Any] = {}
    errors: list[FieldError] = []
    most = {"name": (MOST_NAME, MOST_NAME_STORED), "description": (MOST_DESCRIPTION, 10 * MOST_DESCRIPTION)}
    for name, value in values.items():
        if name == "colour":
            if not 1 <= value <= COLOURS:
                errors.append(FieldError(name, "out_of_range", {"least": 1, "most": COLOURS}))
            checked[name] = value
            continue
        text = tidy(value)
        allowed, stored = most[name]
        if has_nul(text):
            errors.append(FieldError(name, "wrong_type", {"expected": "text without NUL characters"}))
        elif not text and name == "name":
            errors.append(FieldError(name, "required"))
        elif len(text) > allowed and (graphemes(text) > allowed or len(text) > stored):
            errors.append(FieldError(name, "too_long", {"actual": graphemes(text), "most": allowed}))
        checked[name] = text
    if errors:
        raise Refusal.of(errors)
    return checked
