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

from agents.runtime.text import clean
from agents.runtime.types import Said


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
