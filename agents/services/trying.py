"""Ask a model one short question, so that an operator sees at once whether address, key and name are right."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime

from agents.models import Agent, ChatModel, ModelProvider
from agents.selectors import spec_for
from core.clock import monotonic
from core.crypto import Unreadable
from core.errors import Refusal, sentence
from core.text import shorten

QUESTION = "Answer with one word: ready"
MOST_SECONDS = 20.0
MOST_TOKENS = 200
MOST_SHOWN = 200


@dataclass(frozen=True)
class Tried:
    """How a try went: whether an answer came, what it said or why there was none, and how long it took."""

    answered: bool
    text: str
    seconds: float


def provider_try(*, provider: ModelProvider, now: datetime) -> Tried:
    """Ask the provider's first model that is on. Raises Refusal `model_unavailable` when it has none."""
    model = ChatModel.objects.filter(provider=provider, enabled=True, deleted_at=None).order_by("id").first()
    if model is None:
        raise Refusal("model_unavailable")
    model.provider = provider
    return _ask(Agent(name=provider.name, model=model, max_output_tokens=MOST_TOKENS))


def agent_try(*, agent: Agent, now: datetime) -> Tried:
    """Ask the agent's model with the agent's instructions. Load it with `select_related("model__provider")`."""
    return _ask(agent)


def _ask(agent: Agent) -> Tried:
    """Call the model outside every transaction; nothing is stored, nobody is billed by us."""
    from agents.runtime.generate import aclose, generate
    from agents.runtime.types import ModelFailure

    try:
        spec = spec_for(agent, request_timeout=MOST_SECONDS)
    except Unreadable as error:
        return Tried(False, str(error), 0.0)

    async def once() -> str:
        try:
            return (await generate(spec, [], QUESTION, on_text=lambda piece: None)).text
        finally:
            await aclose()

    began = monotonic()
    try:
        text = asyncio.run(once())
    except ModelFailure as failure:
        why = sentence(failure.code)
        return Tried(False, f"{why} {failure.detail}".strip(), monotonic() - began)
    return Tried(True, shorten(text.strip(), MOST_SHOWN), monotonic() - began)
