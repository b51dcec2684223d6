"""Reads of agents, and what a turn needs to call an agent's model."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.models import User
from agents.domain.facts import AgentFacts
from agents.domain.pricing import Prices
from agents.models import Agent, ChatModel, ModelProvider, ProviderKind
from agents.runtime import localmodel
from agents.runtime.types import Kind, ModelSpec
from core.crypto import unseal


def usable_agents(user: User) -> QuerySet[Agent]:
    """Return the agents `user` may pick: shared or own, neither deleted nor disabled, with model and provider on."""
    return visible_agents(user).filter(
        enabled=True,
        model__enabled=True,
        model__deleted_at=None,
        model__provider__enabled=True,
        model__provider__deleted_at=None,
    )


def visible_agents(user: User) -> QuerySet[Agent]:
    """Return the agents `user` may know about: shared or own, not deleted, switched off ones included."""
    agents = Agent.objects.filter(Q(owner=None) | Q(owner=user), deleted_at=None)
    return agents.select_related("model__provider").order_by("name", "id")


def agent_find(user: User, public_id: str) -> Agent | None:
    """Return an agent that `user` may know about, or None; somebody else's is not there."""
    return visible_agents(user).filter(public_id=public_id).first()


def agent_facts(agent_ids: Collection[int]) -> dict[int, AgentFacts]:
    """Return the facts of `agent_ids` in one query; an id that no row has is absent."""
    rows = Agent.objects.filter(pk__in=list(agent_ids)).values_list(
        "pk", "name", "owner_id", "deleted_at", "enabled",
        "model__enabled", "model__deleted_at", "model__provider__enabled", "model__provider__deleted_at",
        "model__price_input", "model__price_cached", "model__price_output",
    )  # fmt: skip
    return {
        pk: AgentFacts(
            pk, name, owner_id, deleted is not None, enabled, _on(m_on, m_gone) and _on(p_on, p_gone), Prices(*prices)
        )
        for pk, name, owner_id, deleted, enabled, m_on, m_gone, p_on, p_gone, *prices in rows
    }


def provider_kinds() -> set[str]:
    """Return the kinds of provider that are switched on: what a worker loads before it forks."""
    providers = ModelProvider.objects.filter(enabled=True, deleted_at=None)
    return set(providers.values_list("kind", flat=True).distinct())


def agent_state(facts: AgentFacts) -> str:
    """Return the one word that API and pages show: `deleted`, `disabled`, `model_unavailable` or `ready`."""
    if facts.deleted:
        return "deleted"
    if not facts.enabled:
        return "disabled"
    return "ready" if facts.model_ok else "model_unavailable"


def state_of_agent(agent: Agent) -> str:
    """Return the agent's word for API and pages. Load `agent` with `select_related("model__provider")`."""
    model, provider = agent.model, agent.model.provider
    working = _on(model.enabled, model.deleted_at) and _on(provider.enabled, provider.deleted_at)
    gone = agent.deleted_at is not None
    return agent_state(AgentFacts(agent.pk, agent.name, agent.owner_id, gone, agent.enabled, working))


def prices_of(model: ChatModel) -> Prices:
    """Return what the model's tokens cost, as far as an operator has said it."""
    return Prices(model.price_input, model.price_cached, model.price_output)


def spec_for(agent: Agent, *, request_timeout: float) -> ModelSpec:
    """Return how to call the agent's model. Load `agent` with `select_related("model__provider")`.

    `request_timeout` is what is left of the turn's deadline in seconds. Raises core.crypto.Unreadable when the stored
    key was sealed with another ENCRYPTION_KEY.
    """
    model = agent.model
    provider = model.provider
    base_url: str | None = provider.base_url or None
    api_key = provider_key(provider)
    if provider.kind == ProviderKind.LOCAL:
        base_url, api_key = _local_endpoint()
    return ModelSpec(
        kind=cast(Kind, provider.kind),
        model=model.name,
        base_url=base_url,
        api_key=api_key,
        instructions=agent.instructions,
        temperature=agent.temperature,
        max_output_tokens=agent.max_output_tokens,
        context_window=model.context_window,
        request_timeout=request_timeout,
        connect_timeout=settings.CONNECT_SECONDS,
        first_token_timeout=settings.FIRST_TOKEN_SECONDS,
    )


def provider_key(provider: ModelProvider) -> str | None:
    """Return the provider's key from the named environment variable or the sealed column; None without one."""
    if provider.key_env:
        return settings.READ_ENVIRONMENT(provider.key_env) or None
    return unseal(provider.key_encrypted) if provider.key_encrypted else None


def _local_endpoint() -> tuple[str | None, str | None]:
    """Return address and key of the small model's server; both None while it does not run."""
    found = localmodel.endpoint(settings.DATA_DIR)
    return (found.base_url, found.api_key) if found else (None, None)


def _on(enabled: bool, deleted_at: object) -> bool:
    return enabled and deleted_at is None
