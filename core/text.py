"""Text as people count it: grapheme clusters (Unicode UAX #29), never code points. Pure."""

from __future__ import annotations

import unicodedata

import regex

_GRAPHEME = regex.compile(r"\X")


def tidy(text: str) -> str:
    """Return `text` trimmed and in NFC, as names and prompts are stored."""
    return unicodedata.normalize("NFC", text).strip()


def graphemes(text: str) -> int:
    """Return how many characters a person sees in `text` (B83)."""
    return sum(1 for _ in _GRAPHEME.finditer(text))


def shorten(text: str, most: int, *, mark: str = "…") -> str:
    """Return the first `most` graphemes of `text`, with `mark` as the last one when something was left out.

    Never cuts inside a grapheme (B83).
    """
    if len(text) <= most:
        return text
    parts = []
    for match in _GRAPHEME.finditer(text):
        parts.append(match.group())
        if len(parts) > most:
            return "".join(parts[: most - 1]).rstrip() + mark
    return text


def fold(text: str) -> str:
    """Return the form in which two names are the same: tidied, case-folded, NFC again (folding can undo it)."""
    return unicodedata.normalize("NFC", tidy(text).casefold())


def has_nul(text: str) -> bool:
    """Return whether `text` holds NUL, which PostgreSQL cannot store."""
    return "\x00" in text
