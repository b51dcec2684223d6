"""What goes into and comes out of a model call. Plain data; nothing of a model library or of Django."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["openai", "anthropic", "google", "local", "demo"]
Certainty = Literal["definite", "ambiguous"]


@dataclass(frozen=True)
class ModelSpec:
    """Which model is asked, how, and for how long.

    ``request_timeout`` is what is left of the turn's deadline, in seconds (R27); the three timeouts are the rungs
    of R26. ``instructions`` are the agent's. ``context_window`` and ``max_output_tokens`` are in tokens.
    """

    kind: Kind
    model: str
    base_url: str | None
    api_key: str | None
    instructions: str
    temperature: float | None
    max_output_tokens: int | None
    context_window: int | None
    request_timeout: float
    connect_timeout: float = 10
    first_token_timeout: float = 60

    def __repr__(self) -> str:
        """Without the key and without the address, which may hold credentials."""
        return f"ModelSpec(kind={self.kind!r}, model={self.model!r})"


@dataclass(frozen=True)
class Said:
    """One earlier message of the conversation.

    ``model_messages`` is the ``Answer.messages_json`` stored with it, if any: it lets the provider have its own
    answer back as it gave it (reasoning, tool calls). Unreadable ones are replaced by ``text``.
    """

    role: Literal["user", "assistant"]
    text: str
    model_messages: str | None = None


@dataclass(frozen=True)
class Usage:
    """Tokens of one model call; ``estimated`` when the provider did not report them."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True)
class Answer:
    """A finished answer. An empty ``text`` is a normal end without text; ``cut`` means the output limit."""

    text: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    usage_estimated: bool
    cut: bool
    messages_json: str | None
    library_version: str


class ModelFailure(Exception):
    """A model call that gave no finished answer.

    ``code`` is one of ``CODES``. ``certainty`` says whether the provider may have worked (and billed): "definite"
    means it did not. ``retry_after`` is in seconds, as the provider asked. ``detail`` is for operators: redacted, at
    most 1,000 characters. ``text`` is what had been received.
    """

    def __init__(
        self,
        code: str,
        *,
        certainty: Certainty,
        retryable: bool,
        retry_after: float | None = None,
        detail: str = "",
        text: str = "",
        usage: Usage | None = None,
    ) -> None:
        assert code in CODES, code
        super().__init__(code)
        self.code = code
        self.certainty: Certainty = certainty
        self.retryable = retryable
        self.retry_after = retry_after
        self.detail = detail
        self.text = text
        usage = usage or Usage()
        self.input_tokens = usage.input_tokens
        self.cached_tokens = usage.cached_tokens
        self.output_tokens = usage.output_tokens
        self.usage_estimated = usage.estimated

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code


CODES = frozenset(
    {
        "provider_unreachable",
        "rate_limited",
        "provider_overloaded",
        "provider_error",
        "provider_timeout",
        "stream_broken",
        "provider_auth",
        "model_not_found",
        "provider_rejected",
        "context_too_long",
        "content_refused",
        "provider_garbage",
        "deadline",
        "internal",
    }
)
