"""What operators keep: providers, models and agents. What something points to becomes a tombstone, never a gap."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.db import IntegrityError, models, transaction

from accounts.models import User
from agents.models import Agent, ChatModel, ModelProvider
from agents.services.noting import note_gone, note_saved
from agents.services.providers import KINDS_WITH_ADDRESS
from core.crypto import seal
from core.db import locked
from core.errors import FieldError, Refusal
from core.text import has_nul, tidy

LEAST_DEADLINE_SECONDS = 10
MOST_INSTRUCTIONS = 100_000
MOST_TEMPERATURE = 2.0
_MOST = {
    "name": 100,
    "base_url": 500,
    "key_env": 100,
    "label": 100,
    "description": 300,
    "instructions": MOST_INSTRUCTIONS,
}
M = TypeVar("M", ModelProvider, ChatModel, Agent)


def provider_save(
    *,
    provider: ModelProvider | None,
    values: Mapping[str, Any],
    key: str | None = None,
    actor: User | None = None,
    now: datetime,
) -> ModelProvider:
    """Add a provider (None) or change the named columns of one.

    `key` None leaves the stored key, an empty one clears it, any other is sealed and can never be read back here.
    Raises Refusal with the fields that cannot be used: `name_taken` for a second one of that kind and name.
    """
    wanted = _texts(values)
    if key is not None:
        wanted["key_encrypted"] = seal(key) if key else ""
    row = _merged(provider, ModelProvider, wanted)
    errors = _text_errors(wanted, needed=("name",))
    if row.kind in KINDS_WITH_ADDRESS and not row.base_url:
        errors.append(FieldError("base_url", "required"))
    if row.base_url and not row.base_url.startswith(("http://", "https://")):
        errors.append(FieldError("base_url", "wrong_type", {"expected": "an http or https address"}))
    if row.key_env and key:
        errors.append(FieldError("key_env", "wrong_type", {"expected": "empty where a key is given"}))
    if _twin(row):
        errors.append(FieldError("name", "name_taken", {"name": row.name}))
    return _stored(provider, row, wanted, errors, actor, now)


def provider_delete(*, provider: ModelProvider, actor: User | None = None, now: datetime) -> bool:
    """Delete a provider with its key; return whether the row is gone. Its models go with it.

    Agents on its models stay and say that their model is switched off (`model_unavailable`).
    """
    with transaction.atomic():
        for model in ChatModel.objects.filter(provider=provider, deleted_at=None):
            model_delete(model=model, actor=actor, now=now)
        return _gone(provider, actor, now, key_encrypted="", key_env="", enabled=False)


def model_save(
    *, model: ChatModel | None, values: Mapping[str, Any], actor: User | None = None, now: datetime
) -> ChatModel:
    """Add a model (None) or change the named columns of one. Raises Refusal with the fields that cannot be used."""
    wanted = _texts(values)
    row = _merged(model, ChatModel, wanted)
    errors = _text_errors(wanted, needed=("name",), most={**_MOST, "name": 200})
    if "provider" in wanted and row.provider.deleted_at is not None:
        errors.append(FieldError("provider", "model_unavailable"))
    if _twin(row):
        errors.append(FieldError("name", "name_taken", {"name": row.name}))
    errors += [
        FieldError(name, "out_of_range", {"least": 0, "most": "999999"})
        for name in ("price_input", "price_cached", "price_output")
        if wanted.get(name) is not None and wanted[name] < 0
    ]
    return _stored(model, row, wanted, errors, actor, now)


def model_delete(*, model: ChatModel, actor: User | None = None, now: datetime) -> bool:
    """Delete a model; return whether the row is gone. With agents on it a tombstone stays."""
    with transaction.atomic():
        return _gone(model, actor, now, enabled=False)


def agent_save(*, agent: Agent | None, values: Mapping[str, Any], actor: User | None = None, now: datetime) -> Agent:
    """Add an agent (None) or change the named columns of one; without an owner all may use it.

    Raises Refusal with the fields that cannot be used.
    """
    wanted = _texts(values)
    row = _merged(agent, Agent, wanted)
    errors = _text_errors(wanted, needed=("name",))
    if "model" in wanted and row.model.deleted_at is not None:
        errors.append(FieldError("model", "model_unavailable"))
    errors += _number_errors(wanted)
    if "tools" in wanted and not isinstance(wanted["tools"], dict):
        errors.append(FieldError("tools", "wrong_type", {"expected": "an object"}))
    return _stored(agent, row, wanted, errors, actor, now)


def agent_delete(*, agent: Agent, actor: User | None = None, now: datetime) -> bool:
    """Delete an agent; return whether the row is gone.

    While schedules, runs or conversations point to it a content-free tombstone stays: "gone" is never "none".
    """
    with transaction.atomic():
        return _gone(agent, actor, now, name="", description="", instructions="", tools={}, enabled=False)


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tidy(value) if isinstance(value, str) else value for name, value in values.items()}


def _merged(row: M | None, kind: type[M], wanted: Mapping[str, Any]) -> M:
    """Return the row as it would be, read anew."""
    merged = kind() if row is None else kind._default_manager.get(pk=row.pk)
    if merged.deleted_at is not None:
        raise Refusal("not_found")
    for name, value in wanted.items():
        setattr(merged, name, value)
    return merged


def _stored(
    given: M | None, row: M, wanted: Mapping[str, Any], errors: list[FieldError], actor: User | None, now: datetime
) -> M:
    """Write and note what was added or changed; `now` is the instant of making, where the table keeps it."""
    if errors:
        raise Refusal.of(errors)
    if given is None and not isinstance(row, ChatModel):
        row.created_at = now
    try:
        with transaction.atomic():
            before = None if given is None else type(row)._default_manager.get(pk=row.pk)
            if given is None:
                row.save(force_insert=True)
            elif wanted:
                row.save(update_fields=list(wanted))
            note_saved(row, before=before, names=wanted, actor=actor, now=now)
    except IntegrityError as error:
        if not _twin(row):
            raise
        raise Refusal.at("name", "name_taken", name=row.name) from error
    return row


def _twin(row: M) -> bool:
    """Return whether another live row has the name that is unique beside it; agents may share one."""
    if isinstance(row, Agent):
        return False
    beside = {"kind": row.kind} if isinstance(row, ModelProvider) else {"provider": row.provider_id}
    rows = type(row)._default_manager.filter(name=row.name, deleted_at=None, **beside)
    return rows.exclude(pk=row.pk).exists()


def _text_errors(
    wanted: Mapping[str, Any], *, needed: tuple[str, ...], most: Mapping[str, int] = _MOST
) -> list[FieldError]:
    errors = [FieldError(name, "required") for name in needed if name in wanted and not wanted[name]]
    for name, value in wanted.items():
        if not isinstance(value, str) or name not in most:
            continue
        if has_nul(value):
            errors.append(FieldError(name, "wrong_type", {"expected": "text without NUL characters"}))
        elif len(value) > most[name]:
            errors.append(FieldError(name, "too_long", {"actual": len(value), "most": most[name]}))
    return errors


def _number_errors(wanted: Mapping[str, Any]) -> list[FieldError]:
    bounds: dict[str, tuple[float, float]] = {
        "temperature": (0, MOST_TEMPERATURE),
        "max_output_tokens": (1, 10_000_000),
        "deadline_seconds": (LEAST_DEADLINE_SECONDS, settings.MAX_DEADLINE_SECONDS),
    }
    return [
        FieldError(name, "out_of_range", {"least": least, "most": most})
        for name, (least, most) in bounds.items()
        if wanted.get(name) is not None and not least <= wanted[name] <= most
    ]


def _gone(row: M, actor: User | None, now: datetime, **emptied: Any) -> bool:
    """Delete `row`, or leave a tombstone with `emptied` columns while any row of any app points to it."""
    kind = type(row)
    held = locked(kind._default_manager.filter(pk=row.pk)).first()
    if held is None or held.deleted_at is not None:
        return False
    note_gone(held, actor=actor, now=now)
    if not pointed_to(held):
        models.QuerySet(kind).filter(pk=row.pk).delete()
        return True
    kind._default_manager.filter(pk=row.pk).update(deleted_at=now, **emptied)
    return False


def pointed_to(row: models.Model) -> bool:
    """Return whether any foreign key leads to `row`: one look at each index, however many rows there are."""
    return any(
        relation.related_model._base_manager.filter(**{relation.field.name: row.pk}).exists()
        for relation in row._meta.related_objects
    )
