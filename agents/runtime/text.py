"""Text that is safe to store: cleaned of what a database refuses, redacted of what nobody may read."""

from __future__ import annotations

import re

DETAIL_LIMIT = 1000

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_URL = re.compile(r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/?#@]*@)?([^\s?#'\"<>]*)(\?[^\s'\"<>#]*)?", re.IGNORECASE)
_AUTHORIZATION = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{4,}", re.IGNORECASE)
_NAMED_SECRET = re.compile(
    r"((?:api[_-]?key|access[_-]?token|authorization|password|secret|token|x-goog-api-key)['\"]?\s*[:=]\s*['\"]?)"
    r"(?!Bearer\b|Basic\b)[^\s'\",}&]{4,}",
    re.IGNORECASE,
)
_KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_][A-Za-z0-9*_-]{6,}|\bAIza[A-Za-z0-9_-]{10,}")

_DIGITS = b"0123456789"
_HIGH = bytes(range(128, 256))


class TextCleaner:
    """Makes a stream of pieces storable: no NUL, no lone surrogate; a pair split between two pieces is joined.

    JSON lets a provider send half a character (``"\\ud83d"``) in one event and the rest in the next.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """The storable form of the next piece; half a pair at its end waits for the following one."""
        piece = self._held + piece
        self._held = ""
        if "\x00" in piece:
            piece = piece.replace("\x00", "")
        if piece.isascii():
            return piece
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        return _join_surrogates(piece)

    def finish(self) -> str:
        """What is left at the end of the stream."""
        held, self._held = self._held, ""
        return "\ufffd" if held else ""


def _join_surrogates(text: str) -> str:
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(text: str) -> str:
    """``text`` without NUL and lone surrogates."""
    cleaner = TextCleaner()
    return cleaner.feed(text) + cleaner.finish()


def redact(text: str, *secrets: str | None) -> str:
    """``text`` for operators: no keys, no credentials or queries of URLs, no control characters, 1,000 characters.

    ``secrets`` are removed wherever they stand, also when the provider shows only their beginning.
    """
    text = clean(text[: 20 * DETAIL_LIMIT])
    for secret in secrets:
        if secret and len(secret) >= 4:
            text = text.replace(secret, "[key]")
            if len(secret) >= 12:
                text = re.sub(re.escape(secret[:8]) + r"[^\s'\",}]*", "[key]", text)
    text = _URL.sub(r"\1\2", text)
    text = _AUTHORIZATION.sub(r"\1 [key]", text)
    text = _NAMED_SECRET.sub(r"\1[key]", text)
    text = _KEY_SHAPED.sub("[key]", text)
    text = _CONTROL.sub(" ", text)
    return text if len(text) <= DETAIL_LIMIT else text[: DETAIL_LIMIT - 1] + "…"


def estimate_tokens(text: str) -> int:
    """About how many tokens ``text`` is, rather too many than too few.

    Four letters or blanks are a token, two digits, and two and a half bytes of any other script. Used for fitting a
    transcript into a context window and where a provider reports no usage.
    """
    data = text.encode("utf-8", "replace")
    digits = len(data) - len(data.translate(None, _DIGITS))
    high = len(data) - len(data.translate(None, _HIGH))
    plain = len(data) - digits - high
    return -(-(plain * 5 + digits * 10 + high * 8) // 20)
