"""What of a conversation fits a model's context window. Light to import: nothing of a model library."""

from __future__ import annotations

from collections.abc import Sequence

from agents.runtime.text import estimate_tokens
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
