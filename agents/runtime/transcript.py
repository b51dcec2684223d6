"""The conversation as a model gets it, and the answer as it is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from agents.runtime.text import clean, estimate_tokens
from agents.runtime.types import ModelSpec, Said

LOCAL_TRANSCRIPT = 600
"""Tokens of instructions, history and prompt that the small local model gets.

A slot holds 2,048, but one core reads about 100 tokens a second: more history means more waiting than it is worth.
"""

PER_MESSAGE = 4
DEFAULT_RESERVE = 1024
LEFT_OUT = "The {count} oldest messages of this conversation were left out here because they did not fit."


def fit_history(spec: ModelSpec, history: Sequence[Said], prompt: str) -> tuple[list[Said], int]:
    """The newest whole turns that fit the context window less the output reserve, and how many messages did not.

    A turn is a user message with what follows it. Without a context window everything fits.
    """
    room = _room(spec)
    if room is None:
        return list(history), 0
    room -= estimate_tokens(spec.instructions) + estimate_tokens(prompt) + 2 * PER_MESSAGE
    keep = len(history)
    for index in range(len(history) - 1, -1, -1):
        room -= _size(history[index])
        if room < 0:
            break
        if history[index].role == "user" or index == 0:
            keep = index
    return list(history[keep:]), keep


def _room(spec: ModelSpec) -> int | None:
    if spec.kind == "local":
        return LOCAL_TRANSCRIPT
    if not spec.context_window:
        return None
    reserve = spec.max_output_tokens or DEFAULT_RESERVE
    return spec.context_window - min(reserve, spec.context_window // 2)


def _size(said: Said) -> int:
    tokens = estimate_tokens(said.text) + PER_MESSAGE
    if said.model_messages and "tool" in said.model_messages:
        tokens = max(tokens, estimate_tokens(said.model_messages))
    return tokens


def to_messages(history: Sequence[Said]) -> list[ModelMessage]:
    """Earlier messages for the library: stored ones where they can be read, else the plain text."""
    found: list[ModelMessage] = []
    for said in history:
        stored = _load(said.model_messages)
        if stored:
            found += stored
        elif said.text.strip():
            found.append(_plain(said))
    return found


def _plain(said: Said) -> ModelMessage:
    if said.role == "user":
        return ModelRequest(parts=[UserPromptPart(content=said.text)])
    return ModelResponse(parts=[TextPart(content=said.text)])


def _load(stored: str | None) -> list[ModelMessage]:
    """Stored messages, or nothing when this version of the library does not know one of their parts."""
    if not stored:
        return []
    try:
        return ModelMessagesTypeAdapter.validate_json(stored)
    except ValidationError:
        return []


def dump(messages: Sequence[ModelMessage]) -> str | None:
    """The messages of an answer as JSON to store, without its prompt; None when they cannot be written."""
    # Without the provider's address, which may hold credentials.
    answer = [replace(m, provider_url=None) if isinstance(m, ModelResponse) else m for m in messages]
    while answer and isinstance(answer[0], ModelRequest):
        del answer[0]
    if not answer:
        return None
    try:
        text = ModelMessagesTypeAdapter.dump_json(answer, exclude_none=True).decode()
    except (ValueError, TypeError):
        return None
    if "\\u0000" in text:
        text = json.dumps(_cleaned(json.loads(text)), ensure_ascii=False)
    return text


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): _cleaned(item) for name, item in value.items()}
    return value
