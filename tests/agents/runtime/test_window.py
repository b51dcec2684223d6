"""What of a conversation fits."""

from __future__ import annotations

from dataclasses import replace

from agents.runtime.types import ModelSpec, Said
from agents.runtime.window import LOCAL_TRANSCRIPT, fit_history
from tests.agents.runtime.conftest import Ask
from tests.fakes.provider import FakeProvider

SPEC = ModelSpec(
    kind="openai",
    model="m",
    base_url=None,
    api_key=None,
    instructions="",
    temperature=None,
    max_output_tokens=100,
    context_window=1000,
    request_timeout=10,
)


def turns(count: int, size: int = 400) -> list[Said]:
    """Turns of about 200 tokens with the usual size."""
    found: list[Said] = []
    for number in range(count):
        found += [Said("user", f"q{number} " + "a" * size), Said("assistant", f"a{number} " + "b" * size)]
    return found


def test_the_newest_whole_turns_that_fit_are_kept() -> None:
    """Transcript (conversations.md)."""
    history = turns(9)
    kept, left_out = fit_history(SPEC, history, "next")
    assert 0 < len(kept) < len(history)
    assert kept == history[left_out:]
    assert kept[0].role == "user"


def test_an_answer_is_never_kept_without_its_question() -> None:
    history = [Said("user", "x" * 4000), Said("assistant", "short")]
    assert fit_history(SPEC, history, "next") == ([], 2)


def test_without_a_known_window_everything_is_kept() -> None:
    history = turns(50)
    assert fit_history(replace(SPEC, context_window=None), history, "next") == (history, 0)


def test_a_short_conversation_is_kept_whole_even_when_it_begins_with_an_answer() -> None:
    history = [Said("assistant", "hello"), *turns(1)]
    assert fit_history(SPEC, history, "next") == (history, 0)


def test_the_output_reserve_and_the_prompt_take_their_room() -> None:
    history = turns(4)
    assert fit_history(replace(SPEC, max_output_tokens=500), history, "next")[1] > fit_history(SPEC, history, "next")[1]
    assert fit_history(SPEC, history, "next " * 300)[1] > fit_history(SPEC, history, "next")[1]


def test_the_small_local_model_gets_a_short_transcript() -> None:
    local = replace(SPEC, kind="local", context_window=None)
    kept, left_out = fit_history(local, turns(9, size=4 * LOCAL_TRANSCRIPT // 9), "next")
    assert kept and left_out


def test_what_was_left_out_is_said_to_the_model(ask: Ask, provider: FakeProvider) -> None:
    """Transcript: what was left out is said to the model."""
    ask(prompt="long talk", history=turns(9), context_window=1000, max_output_tokens=100, instructions="Be kind.")
    [request] = provider.requests("long talk")
    role, text = request["messages"][0]
    assert role == "system"
    assert text.startswith("Be kind.\n\nThe ")
    assert "oldest messages" in text
    assert len(request["messages"]) < 18
