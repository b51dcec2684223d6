"""Every way a provider fails is one code, with its certainty and its retry (the table of runs.md)."""

from __future__ import annotations

import asyncio
import base64
from types import SimpleNamespace

import pytest

from agents.runtime import transport
from agents.runtime.failures import retry_after
from agents.runtime.generate import aclose, generate
from agents.runtime.types import CODES, ModelFailure
from tests.agents.runtime.conftest import KEY, Ask, call, shape, spec_for
from tests.fakes.provider import FakeProvider, answer_text

TEXT = answer_text("hello", 3)

# behaviour of the provider, then: code, certainty, retryable, text
TABLE = [
    ("status-429", "rate_limited", "definite", True, ""),
    ("status-503", "provider_overloaded", "definite", True, ""),
    ("status-529", "provider_overloaded", "definite", True, ""),
    ("status-500", "provider_error", "ambiguous", True, ""),
    ("status-502", "provider_error", "ambiguous", True, ""),
    ("status-504", "provider_error", "ambiguous", True, ""),
    ("status-408", "provider_timeout", "ambiguous", True, ""),
    ("status-401", "provider_auth", "definite", False, ""),
    ("status-402", "provider_auth", "definite", False, ""),
    ("status-403", "provider_auth", "definite", False, ""),
    ("status-404", "model_not_found", "definite", False, ""),
    ("status-400", "provider_rejected", "definite", False, ""),
    ("status-422", "provider_rejected", "definite", False, ""),
    ("redirect", "provider_rejected", "definite", False, ""),
    ("status-413", "context_too_long", "definite", False, ""),
    ("status-400-code-context_length_exceeded", "context_too_long", "definite", False, ""),
    ("status-400-code-exceed_context_size_error", "context_too_long", "definite", False, ""),
    ("status-400-code-content_filter", "content_refused", "definite", False, ""),
    ("filter-0", "content_refused", "definite", False, ""),
    ("filter-3", "content_refused", "definite", False, TEXT),
    ("cut-3", "stream_broken", "ambiguous", False, TEXT),
    ("cut-clean-3", "stream_broken", "ambiguous", False, TEXT),
    ("cut-0", "provider_error", "ambiguous", True, ""),
    ("cut-clean-0", "provider_error", "ambiguous", True, ""),
    ("thinking-2+cut-0", "provider_error", "ambiguous", True, ""),
    ("disconnect", "provider_error", "ambiguous", True, ""),
    ("error-in-stream", "provider_error", "ambiguous", True, ""),
    ("error-in-stream-0-code-rate_limit_exceeded", "rate_limited", "definite", True, ""),
    ("thinking-2+error-in-stream-0-code-rate_limit_exceeded", "rate_limited", "ambiguous", True, ""),
    ("error-in-stream-0-code-overloaded", "provider_overloaded", "definite", True, ""),
    ("error-in-stream-3", "stream_broken", "ambiguous", False, TEXT),
    ("finish-error", "provider_error", "ambiguous", True, ""),
    ("finish-error-3", "stream_broken", "ambiguous", False, TEXT),
    ("garbage", "provider_garbage", "ambiguous", True, ""),
    ("html", "provider_garbage", "ambiguous", True, ""),
    ("json", "provider_garbage", "ambiguous", True, ""),
    ("notchunks", "provider_garbage", "ambiguous", True, ""),
    ("nothttp", "provider_garbage", "ambiguous", True, ""),
]


@pytest.mark.parametrize(("behaviour", "code", "certainty", "retryable", "text"), TABLE, ids=[t[0] for t in TABLE])
def test_a_failing_provider_is_told_apart(
    ask: Ask, behaviour: str, code: str, certainty: str, retryable: bool, text: str
) -> None:
    """Failure and retry (runs.md); an error inside a stream is never a success; text that came is kept."""
    outcome = ask(behaviour)
    assert shape(outcome.failure) == (code, certainty, retryable, text)
    assert outcome.given == text


# What Anthropic's and Gemini's clients must tell apart in the same way.
COMMON = [row for row in TABLE if row[0].partition("-")[0] in ("status", "filter", "cut", "disconnect", "html")]
COMMON = [row for row in COMMON if "-code-" not in row[0]]


@pytest.mark.parametrize("kind", ["anthropic", "google"])
@pytest.mark.parametrize(("behaviour", "code", "certainty", "retryable", "text"), COMMON, ids=[t[0] for t in COMMON])
def test_the_other_kinds_of_provider_fail_alike(
    ask: Ask, kind: str, behaviour: str, code: str, certainty: str, retryable: bool, text: str
) -> None:
    """Failure and retry (runs.md), whoever's client is in use."""
    outcome = ask(behaviour, kind=kind)
    assert shape(outcome.failure) == (code, certainty, retryable, text)
    assert outcome.given == text


@pytest.mark.parametrize(
    ("kind", "behaviour", "code"),
    [
        ("anthropic", "error-in-stream-0-code-overloaded_error", "provider_overloaded"),
        ("anthropic", "error-in-stream", "provider_error"),
        ("anthropic", "error-in-stream-3", "stream_broken"),
        ("anthropic", "garbage", "provider_garbage"),
        ("google", "error-in-stream-3", "stream_broken"),
        ("google", "finish-error", "provider_error"),
        ("google", "garbage", "provider_garbage"),
    ],
)
def test_errors_inside_the_streams_of_other_kinds_are_errors(ask: Ask, kind: str, behaviour: str, code: str) -> None:
    """An error that a library turned into text or a finish reason is the error, never a success."""
    failure = ask(behaviour, kind=kind).failure
    assert failure is not None
    assert failure.code == code


def test_the_seven_faults_of_the_ledger_are_seven(ask: Ask, provider: FakeProvider) -> None:
    """Down, slow, 401, 429 with Retry-After, garbage, cut stream, empty answer: seven different outcomes."""
    provider.become("down")
    outcomes = [ask("ok")]
    provider.become(None)
    outcomes += [ask("slow-20", first_token_timeout=0.2)]
    outcomes += [ask(name) for name in ("status-401", "status-429-after-7", "garbage", "cut-3", "empty")]
    codes = [o.failure.code if o.failure else f"answer {o.answer and o.answer.text!r}" for o in outcomes]
    assert codes == [
        "provider_unreachable",
        "provider_timeout",
        "provider_auth",
        "rate_limited",
        "provider_garbage",
        "stream_broken",
        "answer ''",
    ]


def test_after_a_fault_the_next_call_of_the_same_client_succeeds(provider: FakeProvider) -> None:
    """A pooled connection does not carry a fault on."""

    async def main() -> None:
        for fault in ("down", "garbage", "cut-3", "status-503", "nothttp", "stall-1"):
            provider.become(fault)
            assert (await call(spec_for(provider, request_timeout=0.3))).failure, fault
            provider.become(None)
            assert (await call(spec_for(provider))).answer, fault
        await aclose()

    asyncio.run(main())


# Retry-After.


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("behaviour", ["status-429-after-7", "status-429-date-7"])
def test_retry_after_is_read_as_seconds_and_as_a_date(ask: Ask, kind: str, behaviour: str) -> None:
    """A Retry-After is never undercut (RFC 9110, 10.2.3)."""
    failure = ask(behaviour, kind=kind).failure
    assert failure is not None
    assert failure.retry_after == 7


def test_an_overloaded_provider_may_name_its_wait_too(ask: Ask) -> None:
    failure = ask("status-503-after-3").failure
    assert failure is not None
    assert failure.retry_after == 3


def test_a_date_counts_by_the_providers_own_clock() -> None:
    """The two clocks need not agree."""
    headers = {"retry-after": "Fri, 05 Jun 2026 07:01:30 GMT", "date": "Fri, 05 Jun 2026 07:00:00 GMT"}
    assert retry_after(SimpleNamespace(headers=headers, retry_after=0.0)) == 90  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [("7.5", 7.5), ("-3", None), ("nan", None), ("inf", None), ("soon", None), ("", None)],
)
def test_a_wait_that_is_no_wait_is_none(raw: str, seconds: float | None) -> None:
    assert retry_after(SimpleNamespace(headers={"retry-after": raw}, retry_after=None)) == seconds  # type: ignore[arg-type]


# What a failure tells.


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_a_key_that_the_provider_repeats_is_not_shown(ask: Ask, kind: str) -> None:
    """Failure and retry: redacted."""
    seen = ask("status-401", api_key="abc", kind=kind).failure
    assert seen and "Incorrect API key provided: abc" in seen.detail, "the fake provider repeats the key"
    hidden = ask("status-401", kind=kind).failure
    assert hidden and KEY not in str(hidden)


@pytest.mark.parametrize("behaviour", ["status-401", "nothttp", "garbage", "cut-3"])
def test_a_failure_shows_no_credentials_of_the_address(ask: Ask, provider: FakeProvider, behaviour: str) -> None:
    """Failure and retry: no URLs with credentials, at most 1,000 characters, nothing that a database refuses."""
    failure = ask(behaviour, base_url=provider.url.replace("http://", "http://alice:hunter2@")).failure
    assert failure is not None
    for secret in ("hunter2", base64.b64encode(b"alice:hunter2").decode(), "\x00"):
        assert secret not in str(failure)
    assert 0 < len(failure.detail) <= 1000


@pytest.mark.parametrize("key", ["sk-ké", "sk-with\nnewline"])
def test_a_key_that_no_header_can_carry_is_a_wrong_key(ask: Ask, provider: FakeProvider, key: str) -> None:
    outcome = ask(prompt=f"key {key!r}", api_key=key)
    assert shape(outcome.failure) == ("provider_auth", "definite", False, "")
    assert provider.requests(f"key {key!r}") == []


def test_the_code_of_a_failure_is_one_of_the_catalogue() -> None:
    assert {row[1] for row in TABLE} <= CODES
    with pytest.raises(AssertionError):
        ModelFailure("made_up", certainty="definite", retryable=False)


def test_an_answer_without_bounds_is_cut_off(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """R39: one provider does not fill the memory of all turns."""
    monkeypatch.setattr(transport, "MAX_STREAM_BYTES", 20_000)
    outcome = ask("stream-5000x0ms")
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.retryable) == ("provider_garbage", False)
    assert outcome.given == outcome.failure.text


def test_what_the_callers_own_function_raises_stays_its_own(provider: FakeProvider) -> None:
    """A lost fence in the caller is no failure of the provider (R4)."""

    def refuse(_: str) -> None:
        raise LookupError("fence lost")

    async def main() -> None:
        with pytest.raises(LookupError, match="fence lost"):
            await generate(spec_for(provider, "stream-500x10ms"), [], "fence", on_text=refuse)
        await aclose()

    asyncio.run(main())
    [request] = provider.requests("fence")
    assert provider.outcome(request["id"])["outcome"] == "aborted"
