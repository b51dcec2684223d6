"""May a turn that no person started call a model now? The schedules' gate asks its parts, row by row."""

from dataclasses import dataclass, field
from typing import Any

from agents.domain.facts import AgentFacts


@dataclass(frozen=True)
class AdmissionFacts:
    """Everything admission asks, read beforehand. `agent` None: its row is gone."""

    owner_id: int
    owner_active: bool
    stopped: bool
    stop_reason: str
    deleting: bool
    agent: AgentFacts | None


@dataclass(frozen=True)
class Verdict:
    """`go`, `wait` (nothing is written, nothing is lost) or `refused` with a code and what its sentence names."""

    name: str
    reason: str = ""
    params: dict[str, Any] = field(default_factory=dict)


GO = Verdict("go")


def holds(facts: AdmissionFacts) -> Verdict:
    """Answer gate rows 1 to 3: global stop, owner's deletion, owner inactive."""
    if facts.stopped:
        return Verdict("wait", "stopped_by_operator", {"reason": facts.stop_reason})
    if facts.deleting:
        return Verdict("wait", "account_deleting")
    if not facts.owner_active:
        return Verdict("refused", "owner_inactive")
    return GO


def agent_usable(facts: AdmissionFacts) -> Verdict:
    """Answer gate row 8: the agent is there, the owner's or shared, and switched on."""
    agent = facts.agent
    if agent is None or agent.deleted:
        return Verdict("refused", "agent_deleted")
    if agent.owner_id not in (None, facts.owner_id):
        return Verdict("refused", "agent_forbidden", {"agent": agent.name})
    if not agent.enabled:
        return Verdict("refused", "agent_disabled", {"agent": agent.name})
    return GO


def model_usable(facts: AdmissionFacts) -> Verdict:
    """Answer gate row 13: model and provider are switched on."""
    if facts.agent is not None and not facts.agent.model_ok:
        return Verdict("refused", "model_unavailable", {"agent": facts.agent.name})
    return GO


def admit(facts: AdmissionFacts) -> Verdict:
    """Return the first answer that is not `go`: the whole question, for a turn whose origin adds no rows of its own."""
    for ask in (holds, agent_usable, model_usable):
        verdict = ask(facts)
        if verdict is not GO:
            return verdict
    return GO
