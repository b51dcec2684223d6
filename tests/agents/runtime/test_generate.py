"""One model call from end to end, against a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

from agents.runtime.generate import LIBRARY_VERSION, aclose, generate
from agents.runtime.types import ModelSpec, Said
from tests.agents.runtime.conftest import Ask, call, spec_for
from tests.fakes.provider import FakeProvider, answer_text


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_an_answer_is_the_providers_text_to_the_letter(ask: Ask, kind: str) -> None:
    outcome = ask(prompt="Tell Alice about ridges", kind=kind)
    assert outcome.answer is not None
    assert outcome.answer.text == outcome.given == answer_text("Tell Alice about ridges", 8)
    assert outcome.answer.library_version == LIBRARY_VERSION
    assert not outcome.answer.cut


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_usage_is_the_providers(ask: Ask, kind: str) -> None:
    answer = ask("cached-2", prompt="one two three", kind=kind).answer
    assert answer is not None
    assert (answer.input_tokens, answer.cached_tokens, answer.output_tokens) == (6, 2, 8)
    assert not answer.usage_estimated


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google", "demo"])
def test_it_is_said_once_that_the_request_leaves_before_any_text(provider: FakeProvider, kind: str) -> None:
    said: list[str] = []

    async def main() -> None:
        spec = spec_for(provider, kind=kind)
        await generate(spec, (), "leave", on_text=said.append, on_sent=lambda: said.append("sent"))
        await aclose()

    asyncio.run(main())
    assert (said[0], said.count("sent")) == ("sent", 1)


def test_usage_that_nobody_reports_is_estimated_and_says_so(ask: Ask) -> None:
    answer = ask("nousage", prompt="one two three").answer
    assert answer is not None
    assert answer.usage_estimated
    assert answer.input_tokens > 0
    assert answer.output_tokens >= 8


def test_a_broken_stream_has_an_estimated_usage(ask: Ask) -> None:
    failure = ask("cut-3").failure
    assert failure is not None
    assert failure.usage_estimated
    assert failure.output_tokens > 0


def test_a_refused_request_has_used_nothing(ask: Ask) -> None:
    failure = ask("status-429").failure
    assert failure is not None
    assert (failure.input_tokens, failure.output_tokens) == (0, 0)


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_an_answer_without_text_is_an_answer_and_asked_for_once(ask: Ask, provider: FakeProvider, kind: str) -> None:
    """G14, never 5 of README: not a success, not a failure, and not asked again behind our back."""
    outcome = ask("empty", prompt=f"empty {kind}", kind=kind)
    assert outcome.answer is not None
    assert outcome.answer.text == ""
    assert len(provider.requests(f"empty {kind}")) == 1


def test_reasoning_alone_is_an_answer_without_text(ask: Ask, provider: FakeProvider) -> None:
    outcome = ask("thinking-3+empty", prompt="only thoughts")
    assert outcome.answer is not None
    assert outcome.answer.text == ""
    assert len(provider.requests("only thoughts")) == 1


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("count", [0, 3])
def test_an_answer_that_hit_the_output_limit_is_cut(ask: Ask, kind: str, count: int) -> None:
    """Cut at the output limit: a success, shown as cut."""
    answer = ask(f"length-{count}", kind=kind).answer
    assert answer is not None
    assert (answer.text, answer.cut) == (answer_text("hello", count), True)


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_reasoning_is_no_text(ask: Ask, kind: str) -> None:
    outcome = ask("thinking-3", kind=kind)
    assert outcome.answer is not None
    assert outcome.given == outcome.answer.text == answer_text("hello", 8)


def test_text_that_no_database_takes_is_mended(ask: Ask) -> None:
    """R39: NUL, a split pair, half a pair."""
    outcome = ask("dirty")
    assert outcome.answer is not None
    assert outcome.answer.text == outcome.given == "ab 😀 � end"
    assert "\\u0000" not in (outcome.answer.messages_json or "")


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_the_model_gets_instructions_history_and_prompt(ask: Ask, provider: FakeProvider, kind: str) -> None:
    """Transcript (conversations.md): instructions, then the turns, then the prompt."""
    prompt = f"and now {kind}"
    ask(prompt=prompt, history=[Said("user", "first"), Said("assistant", "reply")], kind=kind, instructions="Be kind.")
    [request] = provider.requests(prompt)
    assert [text for _, text in request["messages"]] == ["Be kind.", "first", "reply", prompt]


def test_temperature_and_output_limit_are_sent(ask: Ask, provider: FakeProvider) -> None:
    ask(prompt="settings", temperature=0.3, max_output_tokens=77)
    [request] = provider.requests("settings")
    assert request["settings"]["temperature"] == 0.3
    assert request["settings"]["max_tokens"] == 77
    assert "tools" not in request["settings"]


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_a_stored_answer_goes_back_as_it_came(ask: Ask, provider: FakeProvider, kind: str) -> None:
    """The message history is stored as produced, next to a readable projection."""
    first = ask("thinking-2", prompt="first", kind=kind).answer
    assert first is not None and first.messages_json
    stored = json.loads(first.messages_json)
    assert [m["kind"] for m in stored] == ["response"]
    assert [p["part_kind"] for p in stored[0]["parts"]] == ["thinking", "text"]

    history = [Said("user", "first"), Said("assistant", first.text, first.messages_json)]
    ask(prompt=f"second {kind}", history=history, kind=kind)
    [request] = provider.requests(f"second {kind}")
    said = " ".join(text for _, text in request["messages"])
    assert said.count(first.text.strip()) == 1
    assert said.count("first") == 1


def test_stored_messages_hold_no_address_of_the_provider(ask: Ask, provider: FakeProvider) -> None:
    """An address may hold credentials."""
    answer = ask(base_url=provider.url.replace("http://", "http://alice:hunter2@")).answer
    assert answer is not None
    assert "hunter2" not in (answer.messages_json or "")


def test_the_demo_says_that_it_is_one(ask: Ask) -> None:
    """A `demo` provider that is labelled as such everywhere (conversations.md)."""
    outcome = ask(kind="demo", base_url=None, api_key=None, prompt="Summarise the news for Alice")
    assert outcome.answer is not None
    assert "demo" in outcome.answer.text.lower()
    assert "Summarise the news for Alice" in outcome.answer.text
    assert len(outcome.pieces) > 1
    assert outcome.answer.usage_estimated


def test_turns_of_one_loop_do_not_harm_each_other(provider: FakeProvider) -> None:
    """R39: thirty calls at once, every third one failing, one cancelled."""

    async def main() -> None:
        models = ["ok", "cut-3", "thinking-2"]
        tasks = [asyncio.create_task(call(spec_for(provider, models[i % 3]), f"turn {i}")) for i in range(30)]
        victim = asyncio.create_task(call(spec_for(provider, "stall-1"), "victim"))
        outcomes = await asyncio.gather(*tasks)
        victim.cancel()
        assert isinstance((await asyncio.gather(victim, return_exceptions=True))[0], asyncio.CancelledError)
        for number, outcome in enumerate(outcomes):
            if number % 3 == 1:
                assert outcome.failure is not None
                assert outcome.failure.text == answer_text(f"turn {number}", 3)
            else:
                assert outcome.answer is not None
                assert outcome.answer.text == answer_text(f"turn {number}", 8)
        await aclose()

    asyncio.run(main())


def test_the_room_is_warmed_without_django() -> None:
    """Warm before the fork; the runtime is plain Python."""
    code = (
        "import gc, sys\n"
        "from agents.runtime import generate, warming\n"
        "warming.warm(kinds=('openai',))\n"
        "generate.tune_gc()\n"
        "assert gc.get_freeze_count() > 10_000 and gc.get_threshold() == (50_000, 20, 100)\n"
        "assert 'django' not in sys.modules, 'django was imported'\n"
        "assert 'openai' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_spec_shows_no_key_when_it_is_printed(provider: FakeProvider) -> None:
    spec: ModelSpec = spec_for(provider)
    assert str(spec.api_key) not in f"{spec!r} {spec}"
