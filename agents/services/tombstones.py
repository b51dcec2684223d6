"""Puts a tombstone where an agent's row is gone although rows point to it: written past the constraints, by hand."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime

from agents.models import Agent, ChatModel, ModelProvider, ProviderKind

logger = logging.getLogger(__name__)
_NAME = "Deleted"


def agents_mend(*, ids: Collection[int], now: datetime) -> dict[int, Agent]:
    """Return the agents of `ids` by id; one whose row is gone gets the tombstone that a deletion would have left.

    It has the id that is pointed to, so that every row which names it is whole again and lists, pages and the ledger
    show a deleted agent (P8: "gone" is never "none"). Two at once make one. The caller holds a transaction.
    """
    found = Agent.objects.in_bulk(ids)
    gone = sorted(set(ids) - found.keys())
    if not gone:
        return found
    logger.error(
        "agents %s are pointed to and have no row: deleted past the constraints; tombstones take their place", gone
    )
    model = _model(now)
    Agent.objects.bulk_create(
        [Agent(pk=pk, name="", model=model, enabled=False, deleted_at=now, created_at=now) for pk in gone],
        ignore_conflicts=True,
    )
    return found | Agent.objects.in_bulk(gone)


def _model(now: datetime) -> ChatModel:
    """Return a deleted model of a deleted provider: which one the agent had is not known any more."""
    deleted = ChatModel.objects.filter(name=_NAME, deleted_at__isnull=False, provider__deleted_at__isnull=False)
    found = deleted.order_by("pk").first()
    if found is not None:
        return found
    provider = ModelProvider.objects.create(
        kind=ProviderKind.OPENAI, name=_NAME, enabled=False, deleted_at=now, created_at=now
    )
    return ChatModel.objects.create(provider=provider, name=_NAME, enabled=False, deleted_at=now)
