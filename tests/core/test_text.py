"""Text as people count it (B83)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import fold, graphemes, has_nul, shorten, tidy

FAMILY = "👨‍👩‍👧‍👦"
DEVANAGARI = "नमस्ते"


def test_a_family_is_one_character():
    assert graphemes(FAMILY) == 1
    assert graphemes("e\u0301") == 1
    assert graphemes("a" * 99 + FAMILY) == 100


def test_text_is_trimmed_and_composed():
    assert tidy("  Cafe\u0301\n") == "Café"


def test_a_cut_never_falls_inside_a_character():
    """B83"""
    text = "a" * 99 + FAMILY + "b"
    assert shorten(text, 100) == "a" * 99 + "…"
    assert shorten("a" * 98 + FAMILY + "bc", 100) == "a" * 98 + FAMILY + "…"
    assert shorten(FAMILY * 3, 3) == FAMILY * 3


@given(st.text(alphabet=st.sampled_from([*FAMILY, *DEVANAGARI, "a", " ", "\u0301", "ع"])), st.integers(1, 20))
def test_what_is_left_is_whole_characters_of_the_text_and_no_more_than_asked(text: str, most: int):
    """B83"""
    short = shorten(text, most)
    assert graphemes(short) <= most
    if short != text:
        kept = short.removesuffix("…")
        assert text.startswith(kept)
        assert graphemes(kept) + graphemes(text[len(kept) :]) == graphemes(text)


@pytest.mark.parametrize(("one", "other"), [("Straße", "STRASSE"), ("Café", "cafe\u0301 "), ("ΑΣ", "ας")])
def test_names_are_the_same_whatever_case_and_composition(one: str, other: str):
    assert fold(one) == fold(other)


def test_nul_is_seen():
    assert has_nul("a\x00b")
    assert not has_nul("a\\0b")
