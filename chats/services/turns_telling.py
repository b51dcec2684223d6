"""Tells operators of what only they can mend, in the transaction that settles the turn (R3, R12)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from accounts.services.notices import operators_tell
from agents.models import ModelProvider
from chats.models import Turn


def tell_key_refused(turns: Iterable[Turn], *, now: datetime) -> None:
    """Tell every active operator once a day (UTC) that a provider refused its key; `turns` ended with it."""
    ids = {turn.agent.model.provider_id for turn in turns}
    if not ids:
        return
    for provider in ModelProvider.objects.filter(pk__in=ids).order_by("pk"):
        operators_tell(
            code="provider_key_refused",
            params={"provider": provider.name},
            subject=provider.public_id,
            dedupe_key=f"key:{provider.pk}:{now.astimezone(UTC).date()}",
            now=now,
        )
