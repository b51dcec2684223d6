"""From a spec to the model object and settings of the agent library, one builder per kind of provider."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings

from agents.runtime.clients import Client, client_for
from agents.runtime.types import ModelSpec

NO_KEY = "no-key"

LOCAL_INSTRUCTIONS = "You are a helpful assistant. Answer in at most three short sentences."
LOCAL_TEMPERATURE = 0.2
LOCAL_MAX_OUTPUT = 160
_LOCAL_SAMPLING = {"top_p": 0.9, "min_p": 0.05, "repeat_penalty": 1.1}

_DEMO_PAUSE = 0.7
"""Seconds between two sentences: long enough to see on the card how a running answer looks."""


_LIBRARIES = {
    "openai": ("pydantic_ai.models.openai", "pydantic_ai.providers.openai_compatible"),
    "anthropic": ("pydantic_ai.models.anthropic", "pydantic_ai.providers.anthropic"),
    "google": ("pydantic_ai.models.google", "pydantic_ai.providers.google"),
}


def load(kind: str) -> None:
    """Import what a kind of provider needs: up to some seconds the first time, nothing after."""
    for name in _LIBRARIES.get({"local": "openai"}.get(kind, kind), ()):
        importlib.import_module(name)


def loaded(kind: str) -> bool:
    """Whether ``load`` has nothing left to do."""
    return all(name in sys.modules for name in _LIBRARIES.get({"local": "openai"}.get(kind, kind), ()))


def build(spec: ModelSpec) -> Model[Any]:
    """The library's model for a spec; SDK clients are shared, model objects kept with them."""
    if spec.kind == "demo":
        return FunctionModel(stream_function=_demo, model_name="demo")
    client = client_for(spec)
    if spec.model not in client.models:
        client.models[spec.model] = _BUILDERS[spec.kind](spec, client)
    return client.models[spec.model]


def settings(spec: ModelSpec) -> ModelSettings:
    """Temperature, output limit, and the two upper rungs of R26: first token and deadline."""
    found = ModelSettings(request_timeout=spec.request_timeout, first_event_timeout=spec.first_token_timeout)
    temperature, limit = spec.temperature, spec.max_output_tokens
    if spec.kind == "local":
        temperature = LOCAL_TEMPERATURE if temperature is None else temperature
        limit = min(limit or LOCAL_MAX_OUTPUT, LOCAL_MAX_OUTPUT)
        found["extra_body"] = dict(_LOCAL_SAMPLING)
    if temperature is not None:
        found["temperature"] = temperature
    if limit is not None:
        found["max_tokens"] = limit
    return found


def instructions(spec: ModelSpec) -> str:
    """The agent's instructions; the small local model gets a sentence before them that keeps it short."""
    if spec.kind != "local":
        return spec.instructions
    return f"{LOCAL_INSTRUCTIONS} {spec.instructions}".strip()


def _openai(spec: ModelSpec, client: Client) -> Model[Any]:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    host = httpx2.URL(client.base_url).host
    own = host == "api.openai.com"
    if client.provider is None:
        sdk = AsyncOpenAI(
            base_url=client.base_url, api_key=spec.api_key or NO_KEY, max_retries=0, http_client=client.http
        )
        # The name decides to whom stored reasoning goes back: never from one server to another.
        name = "local" if spec.kind == "local" else host
        client.provider = (
            OpenAIProvider(openai_client=sdk) if own else OpenAICompatibleProvider(name, openai_client=sdk)
        )
    # Servers that are merely compatible know `max_tokens` only.
    profile = OpenAIModelProfile(
        openai_chat_streaming_requires_finish_reason=True, openai_chat_supports_max_completion_tokens=own
    )
    return OpenAIChatModel(spec.model, provider=client.provider, profile=profile)


def _anthropic(spec: ModelSpec, client: Client) -> Model[Any]:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    if client.provider is None:
        sdk = AsyncAnthropic(
            base_url=client.base_url, api_key=spec.api_key or NO_KEY, max_retries=0, http_client=client.http
        )
        client.provider = AnthropicProvider(anthropic_client=sdk)
    return AnthropicModel(spec.model, provider=client.provider)


def _google(spec: ModelSpec, client: Client) -> Model[Any]:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    if client.provider is None:
        client.provider = GoogleProvider(
            api_key=spec.api_key or NO_KEY, base_url=spec.base_url, http_client=client.http
        )
    return GoogleModel(spec.model, provider=client.provider)


_BUILDERS: dict[str, Callable[[ModelSpec, Client], Model[Any]]] = {
    "openai": _openai,
    "local": _openai,
    "anthropic": _anthropic,
    "google": _google,
}


async def _demo(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
    """The demo provider: a text that says what it is and repeats the beginning of the prompt."""
    prompt = ""
    for message in messages:
        if isinstance(message, ModelRequest):
            prompt = next((str(p.content) for p in message.parts if isinstance(p, UserPromptPart)), prompt)
    echo = " ".join(prompt.split())
    echo = echo if len(echo) <= 160 else echo[:159] + "…"
    sentences = (
        "**This is a demo answer.** ",
        "No model was asked: the demo provider only shows how a run looks. ",
        f"You wrote: “{echo}”. ",
        "An operator can add a real provider, ",
        "and then the same schedule brings real answers.",
    )
    for sentence in sentences:
        yield sentence
        await asyncio.sleep(_DEMO_PAUSE)
