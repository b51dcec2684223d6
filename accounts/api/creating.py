"""POSTs that create: read once, made once, replayed as often as the client repeats its key."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from accounts.services.idempotency import Made, digest, once, replay_find
from core.api import ApiRequest, found, idempotency_key
from core.serializers import StrictSerializer, validated

T = TypeVar("T", bound=Made)

REPLAYED = {"Idempotent-Replayed": "true"}


def created(
    request: ApiRequest,
    *,
    act: str,
    reads: type[StrictSerializer],
    make: Callable[[dict[str, Any]], T],
    find: Callable[[str], T | None],
    now: datetime,
) -> tuple[T, dict[str, str]]:
    """Return what the request makes, or made before under its `Idempotency-Key`, and the headers that say so.

    The look-up comes before every validation and policy (P7); `find` reads the thing by its public id.
    """
    key = idempotency_key(request)
    if key is None:
        return make(validated(reads, request.data)), {}
    sent = digest(request.data)
    earlier = replay_find(owner=request.user, act=act, key=key, digest=sent)
    if earlier is not None:
        return found(find(earlier.made)), REPLAYED
    values = validated(reads, request.data)
    made, public_id, replayed = once(
        owner=request.user,
        act=act,
        key=key,
        digest=sent,
        make=lambda: make(values),
        now=now,
    )
    return (found(find(public_id)), REPLAYED) if replayed or made is None else (made, {})
