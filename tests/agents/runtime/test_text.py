"""Text that can be stored and shown: cleaned, redacted, measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.runtime.text import TextCleaner, clean, estimate_tokens, redact


def test_a_nul_and_a_lone_surrogate_never_reach_the_database() -> None:
    """R39: no text makes a settle fail."""
    assert clean("a\x00b \ud800 c") == "ab � c"


def test_a_character_split_between_two_pieces_is_one_character() -> None:
    """R39."""
    cleaner = TextCleaner()
    assert cleaner.feed("x \ud83d") + cleaner.feed("\ude00 y") + cleaner.finish() == "x 😀 y"


def test_half_a_character_at_the_end_is_replaced() -> None:
    """R39."""
    cleaner = TextCleaner()
    assert cleaner.feed("x\ud83d") + cleaner.finish() == "x�"


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 5))
def test_whatever_comes_in_whatever_pieces_can_be_stored(text: str, size: int) -> None:
    """R39."""
    cleaner = TextCleaner()
    out = "".join(cleaner.feed(text[i : i + size]) for i in range(0, len(text), size)) + cleaner.finish()
    out.encode("utf-8")
    assert "\x00" not in out
    assert out == clean(text)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Incorrect API key provided: my-secret-key-1234567", "my-secret-key-1234567"),
        ("Incorrect API key provided: my-secre**********4567.", "my-secre"),
        ("got sk-proj-abcdef123456 for it", "sk-proj-abcdef123456"),
        ("Authorization: Bearer abc.def.ghi", "abc.def.ghi"),
        ("{'api_key': 'topsecret'}", "topsecret"),
        ("GET https://alice:hunter2@models.example/v1/chat failed", "hunter2"),
        ("GET https://models.example/v1/chat?key=AbCdEf&x=1 failed", "AbCdEf"),
    ],
)
def test_a_detail_shows_no_key_and_no_credentials_of_an_address(text: str, gone: str) -> None:
    """Failure and retry (runs.md): no keys, no URLs with credentials."""
    assert gone not in redact(text, "my-secret-key-1234567")


def test_a_detail_keeps_the_words_that_help() -> None:
    assert redact("GET https://models.example/v1/chat?key=1234 failed: 503") == (
        "GET https://models.example/v1/chat failed: 503"
    )


def test_a_detail_has_at_most_a_thousand_characters() -> None:
    assert len(redact("x" * 50_000)) == 1000


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("", 0, 0), ("The capital of France is Paris.", 6, 12), ("1234567890", 4, 10), ("日本語のテキスト", 6, 16)],
)
def test_tokens_are_estimated_rather_too_high_than_too_low(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most
