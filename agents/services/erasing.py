"""What becomes of the agents of somebody who leaves: erased, or handed to the operators where others use them (A6)."""

from __future__ import annotations

from datetime import datetime

from accounts.services.audit import audit
from agents.models import Agent, _agent_id
from agents.services.catalogue import pointed_to
from core.erasing import batch_of
from core.registry import Eraser, Leaving, agents_in_use


def agents_erase(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Erase agents of the person, whose own schedules, runs and conversations are gone by now.

    One that somebody else's schedule or unfinished turn is on becomes shared, which operators keep; one that only what
    is over points to leaves a tombstone without content and under another id.
    """
    ids = batch_of(Agent, most, owner=leaving.user_id)
    used = agents_in_use(ids)
    for agent in Agent.objects.filter(pk__in=ids).order_by("pk"):
        if agent.pk in used:
            Agent.objects.filter(pk=agent.pk).update(owner=None)
            agent.owner = None
            audit(act="agent.handed_over", subject=agent, now=now)
        elif pointed_to(agent):
            Agent.objects.filter(pk=agent.pk).update(
                owner=None, public_id=_agent_id(), name="", description="", instructions="", tools={}, enabled=False,
                deleted_at=now,
            )  # fmt: skip
        else:
            agent.delete()
    return len(ids)


ERASERS: dict[str, Eraser] = {"agents.Agent": agents_erase}
