"""Plain dictionaries as wire.md names them."""

from __future__ import annotations

from typing import Any

from agents.models import Agent
from agents.selectors import state_of_agent

Json = dict[str, Any]


def agent_out(agent: Agent) -> Json:
    """Return the wire shape of an agent. Load it with `select_related("model__provider")`."""
    return {
        "id": agent.public_id,
        "name": agent.name,
        "description": agent.description,
        "model": str(agent.model),
        "tools": agent.tools,
        "state": state_of_agent(agent),
    }
