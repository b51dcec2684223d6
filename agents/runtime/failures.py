"""From whatever went wrong to one ``ModelFailure``: code, certainty, retry (the table of runs.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from pydantic_ai import exceptions as lib

from agents.runtime.text import redact
from agents.runtime.transport import StreamTooLarge, Witness
from agents.runtime.types import Certainty, ModelFailure, ModelSpec, Usage

TRANSIENT = frozenset(
    {
        "provider_unreachable",
        "rate_limited",
        "provider_overloaded",
        "provider_error",
        "provider_timeout",
        "provider_garbage",
    }
)
AMBIGUOUS = frozenset(
    {"provider_error", "provider_timeout", "provider_garbage", "stream_broken", "deadline", "internal"}
)
"""Codes after which the provider may have worked; the others mean that it did not."""

_STATUSES = {
    401: "provider_auth",
    402: "provider_auth",
    403: "provider_auth",
    404: "model_not_found",
    408: "provider_timeout",
    413: "context_too_long",
    429: "rate_limited",
    503: "provider_overloaded",
    529: "provider_overloaded",
}
_CATEGORIES: tuple[tuple[type[Exception], str], ...] = (
    (lib.ModelContextWindowExceededError, "context_too_long"),
    (lib.ModelRateLimitError, "rate_limited"),
    (lib.ModelUnavailableError, "provider_overloaded"),
    (lib.ModelAuthenticationError, "provider_auth"),
    (lib.ModelNotFoundError, "model_not_found"),
    (lib.ModelQuotaExceededError, "rate_limited"),
    (lib.ModelRequestRejectedError, "provider_rejected"),
    (lib.ModelServerError, "provider_error"),
)
_TOO_LONG = (
    "exceed_context_size",
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "context size",
    "prompt is too long",
    "input token count",
    "input is too long",
    "reduce the length of the messages",
)
_REFUSED = ("content_filter", "content_policy", "responsibleaipolicy", "moderation")

_FINISHES = {
    "error": "provider_error",
    "abort": "provider_error",
    "aborted": "provider_error",
    "cancelled": "provider_error",
    "failed": "provider_error",
    "internal_error": "provider_error",
    "model_error": "provider_error",
    "network_error": "provider_error",
    "timeout": "provider_error",
    "insufficient_system_resource": "provider_overloaded",
    "overloaded": "provider_overloaded",
    "content_filter": "content_refused",
    "sensitive": "content_refused",
    "refusal": "content_refused",
    "safety": "content_refused",
}
"""Finish reasons that are errors, also those that the library does not know."""


@dataclass(frozen=True)
class Received:
    """What had arrived when a call failed: text, anything at all (reasoning included), tokens."""

    text: str = ""
    anything: bool = False
    usage: Usage = field(default_factory=Usage)


def failure(
    code: str, spec: ModelSpec, received: Received, detail: str = "", retry_after: float | None = None
) -> ModelFailure:
    """The failure for a code, with certainty and retry as the table has them.

    After text no transient error is retried: the text is kept and the stream counts as broken. An error of the
    provider's making that is definite before anything was generated is ambiguous after.
    """
    if received.text and code in TRANSIENT and code != "provider_garbage":
        code, detail, retry_after = "stream_broken", f"{code}: {detail}" if detail else code, None
    worked = code in AMBIGUOUS or (received.anything and code in TRANSIENT)
    certainty: Certainty = "ambiguous" if worked else "definite"
    return ModelFailure(
        code,
        certainty=certainty,
        retryable=code in TRANSIENT and not received.text,
        retry_after=retry_after,
        detail=redact(detail, spec.api_key),
        text=received.text,
        usage=received.usage,
    )


def finish_failure(finish: str | None, raw: str | None, spec: ModelSpec, received: Received) -> ModelFailure | None:
    """The failure that a finish reason stands for; None for a normal end or the output limit."""
    code = _FINISHES.get((raw or "").lower()) or _FINISHES.get(finish or "")
    if code:
        return failure(code, spec, received, f"finish reason {raw or finish!r}")
    if finish is None and raw is None:
        return failure("provider_error", spec, received, "the answer ended without a finish reason")
    return None


def from_exception(error: BaseException, spec: ModelSpec, received: Received, witness: Witness) -> ModelFailure:
    """The failure for anything that the libraries raise."""
    code = _code(error, received, witness)
    detail = _detail(error, witness)
    return failure(code, spec, received, detail, retry_after(error) if code in TRANSIENT else None)


def _code(error: BaseException, received: Received, witness: Witness) -> str:
    if isinstance(error, lib.ModelRequestTimeout):
        return "provider_timeout" if error.setting == "first_event_timeout" else "deadline"
    if isinstance(error, lib.ContentFilterError):
        return "content_refused"
    chain = _chain(error)
    if any(isinstance(cause, StreamTooLarge) for cause in chain):
        return "provider_garbage"
    if isinstance(error, lib.ModelAPIError):
        status = getattr(error, "status_code", None)
        if status is not None or error.in_stream:
            return _from_answer(error, status)
    if 300 <= witness.status < 400:
        return "provider_rejected"
    if isinstance(error, lib.ModelConnectionError):
        return _from_connection(error, witness)
    if witness.unreadable() or any(isinstance(cause, ValueError) for cause in chain[1:]):
        return "provider_garbage"
    if isinstance(error, lib.ModelAPIError):
        return "provider_error"
    if isinstance(error, lib.UnexpectedModelBehavior):
        return "provider_garbage" if witness.events or received.anything else "provider_error"
    return "provider_garbage" if witness.status == 200 else "internal"


def _from_answer(error: lib.ModelAPIError, status: int | None) -> str:
    """The code for an error that the provider itself reported: its own code and words, category, status."""
    names = f"{error.provider_error_code} {error.provider_error_type}".lower()
    if status is None or (400 <= status < 500 and status not in (401, 429)):
        words = f"{names} {error}".lower()
        if isinstance(error, lib.ModelContextWindowExceededError) or any(word in words for word in _TOO_LONG):
            return "context_too_long"
        if any(word in names for word in _REFUSED):
            return "content_refused"
    if isinstance(error, lib.ModelOverloadedError):
        return "provider_overloaded"
    if status in _STATUSES:
        return _STATUSES[status]
    for category, code in _CATEGORIES:
        if isinstance(error, category):
            return code
    if status is not None and status < 500:
        return "provider_rejected"
    return "provider_error"


def _from_connection(error: lib.ModelConnectionError, witness: Witness) -> str:
    if error.phase in ("connect", "pool"):
        return "provider_unreachable"
    if witness.not_http:
        return "provider_garbage"
    if isinstance(error, lib.ModelTimeoutError):
        return "provider_timeout"
    sent_nothing = any(
        type(cause).__name__ in ("UnsupportedProtocol", "LocalProtocolError", "ProxyError") for cause in _chain(error)
    )
    return "provider_unreachable" if sent_nothing else "provider_error"


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__
    return found


def _detail(error: BaseException, witness: Witness) -> str:
    """One line for operators, the causes included where they say more."""
    lines: list[str] = []
    for cause in _chain(error):
        line = f"{type(cause).__name__}: {cause}"
        if str(cause) and not any(str(cause) in earlier for earlier in lines):
            lines.append(line)
    if witness.status == 200 and not witness.is_event_stream():
        lines.append(f"content type {witness.content_type!r}")
    return " <- ".join(lines) or type(error).__name__


def retry_after(error: BaseException) -> float | None:
    """Seconds to wait as the provider asked (RFC 9110, 10.2.3): a number, or a date.

    A date counts from the response's own ``Date``, so that the two clocks need not agree.
    """
    headers: dict[str, str] = getattr(error, "headers", None) or {}
    given: Any = getattr(error, "retry_after", None)
    raw = headers.get("retry-after", "").strip()
    if raw and "retry-after-ms" not in headers:
        given = _seconds(raw, headers.get("date", ""), given)
    if given is None or not math.isfinite(given) or given < 0:
        return None
    return float(given)


def _seconds(raw: str, date: str, otherwise: float | None) -> float | None:
    try:
        return float(raw)
    except ValueError:
        pass
    try:
        wait = parsedate_to_datetime(raw) - parsedate_to_datetime(date)
    except (ValueError, TypeError):
        return otherwise
    return max(0.0, wait.total_seconds())
