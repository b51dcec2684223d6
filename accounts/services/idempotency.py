"""One act per key: a repeated request gets what the first one made (runs.md, Create is idempotent)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from django.db import IntegrityError, transaction

from accounts.models import IdempotencyKey, User
from core.errors import Refusal


class Made(Protocol):
    """What an act under a key makes: anything with a public id."""

    public_id: Any


T = TypeVar("T", bound=Made)

KEPT_AFTER_ERASE = timedelta(hours=24)
MOST = 128


def digest(body: Any) -> str:
    """Return the digest of a parsed body as sent: keys sorted, nothing filled in, omitted and null being different."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def replay_find(*, owner: User, act: str, key: str, digest: str) -> IdempotencyKey | None:
    """Return the row of an earlier act under `key`, or None when the key is new. Writes nothing.

    For the look-up that comes before every validation. Raises Refusal `idempotency_conflict` when the key stands for
    another request, `gone` when what it made was deleted since.
    """
    row = IdempotencyKey.objects.filter(owner=owner, act=act, key=key).first()
    if row is None:
        return None
    if row.digest != digest:
        raise Refusal("idempotency_conflict")
    if row.gone_at is not None:
        raise Refusal("gone")
    return row


def replay_or_claim(*, owner: User, act: str, key: str, digest: str, now: datetime) -> IdempotencyKey | None:
    """Return the row to replay, or None when this request has now claimed `key` and shall do the act.

    Runs inside the caller's transaction, so that a refused act uses up no key. Of two at once the second waits at the
    unique index until the first has ended, and replays. Raises like `replay_find`.
    """
    found = replay_find(owner=owner, act=act, key=key, digest=digest)
    if found is not None:
        return found
    try:
        with transaction.atomic():
            IdempotencyKey.objects.create(owner=owner, act=act, key=key, digest=digest, created_at=now)
    except IntegrityError:
        found = replay_find(owner=owner, act=act, key=key, digest=digest)
        if found is None:
            raise
        return found
    return None


def fulfil(*, owner: User, act: str, key: str, made: str) -> None:
    """Record the public id of what the claimed act made, in the same transaction."""
    IdempotencyKey.objects.filter(owner=owner, act=act, key=key).update(made=made)


def once(
    *, owner: User, act: str, key: str, digest: str, make: Callable[[], T], now: datetime
) -> tuple[T | None, str, bool]:
    """Do `make` once per key, in one transaction; return what it made, its public id, and whether it is a replay.

    A replay makes nothing and returns None with the id of what the first request made. Raises like `replay_find`.
    """
    with transaction.atomic():
        earlier = replay_or_claim(owner=owner, act=act, key=key, digest=digest, now=now)
        if earlier is not None:
            return None, earlier.made, True
        made = make()
        fulfil(owner=owner, act=act, key=key, made=made.public_id)
    return made, made.public_id, False


def made_gone(*, made: Collection[str], now: datetime) -> int:
    """Note that these things were erased: their keys answer `gone` for 24 h, so that no retry brings them back."""
    ids = [public_id for public_id in made if public_id]
    return IdempotencyKey.objects.filter(made__in=ids, gone_at=None).update(gone_at=now)


def keys_sweep(*, now: datetime, batch: int = 500) -> int:
    """Forget keys whose thing was erased more than 24 h ago; returns how many."""
    over = IdempotencyKey.objects.filter(gone_at__lt=now - KEPT_AFTER_ERASE).order_by("gone_at")
    deleted, _ = IdempotencyKey.objects.filter(pk__in=list(over.values_list("pk", flat=True)[:batch])).delete()
    return deleted
