"""What the fake provider does with one request, read from a short name.

A name is a list of words joined by ``+``, such as ``slow-2+cut-5``:

=============================  ==================================================================
``ok``                         a normal answer
``slow-S``                     nothing for S seconds, then as told by the other words
``stream-NxMms``               N pieces of text, one every M milliseconds
``status-CODE``                an error status; ``-after-S`` adds ``Retry-After: S``, ``-date-S`` the
                               same as an HTTP-date, ``-code-NAME`` the provider's own error code
``garbage``, ``html``          an event stream of nonsense; a web page with status 200
``json``                       a whole (not streamed) completion although a stream was asked for
``notchunks``                  events that are valid JSON but not completions
``nothttp``, ``disconnect``    bytes that are not HTTP; the connection closed without an answer
``redirect``                   a 302 to elsewhere
``cut-N``, ``cut-clean-N``     N pieces, then the connection is torn, or the body ends without a
                               finish reason (``cut-clean`` alone is five pieces)
``stall-N``                    N pieces, then silence
``empty``                      a normal end without any text
``length-N``, ``filter-N``     N pieces, then the finish reason ``length`` or ``content_filter``
``finish-error-N``             N pieces, then the finish reason ``error``
``error-in-stream-N``          N pieces, then an error event; ``-code-NAME`` names the error
``error-stall-N``              the same, and then silence instead of the end
``thinking-N``                 N pieces of reasoning before the text
``nousage``, ``cached-N``      no usage report; N of the prompt's tokens reported as cached
``dirty``                      text with a NUL, a split surrogate pair and a lone surrogate
=============================  ==================================================================

An unknown word is ignored, so any model name works and answers normally.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

_WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "haven",
    "inlet",
    "juniper",
    "knoll",
    "lagoon",
    "meadow",
    "north",
    "orchard",
    "prairie",
    "quarry",
    "ridge",
    "summit",
    "thicket",
    "upland",
    "valley",
    "willow",
    "yarrow",
    "zephyr",
    "harbour",
]
_DIRECTIVE = re.compile(r"\[\[([a-z0-9_.+-]+)\]\]")


@dataclass(frozen=True)
class Behaviour:
    """One request's script: delays in seconds, counts in pieces of text."""

    chunks: int = 8
    interval: float = 0.005
    first_delay: float = 0.0
    status: int = 200
    retry_after: float | None = None
    retry_as_date: bool = False
    error_code: str | None = None
    body: str = "events"
    ending: str = "stop"
    thinking: int = 0
    usage: bool = True
    cached: int = 0
    dirty: bool = False


def directive(prompt: str) -> str | None:
    """The behaviour named inside ``[[...]]`` in a prompt, if any."""
    found = _DIRECTIVE.search(prompt)
    return found.group(1) if found else None


def behaviour(name: str, defaults: Behaviour) -> Behaviour:
    """The script that ``name`` stands for, on top of ``defaults``."""
    script = defaults
    for word in name.rpartition("/")[2].split("+"):
        script = _apply(script, word)
    return script


def _apply(script: Behaviour, word: str) -> Behaviour:
    if found := re.fullmatch(r"stream-(\d+)x(\d+(?:\.\d+)?)ms", word):
        return replace(script, chunks=int(found[1]), interval=float(found[2]) / 1000)
    if found := re.fullmatch(r"slow-(\d+(?:\.\d+)?)", word):
        return replace(script, first_delay=float(found[1]))
    if found := re.fullmatch(r"thinking-(\d+)", word):
        return replace(script, thinking=int(found[1]))
    if found := re.fullmatch(r"cached-(\d+)", word):
        return replace(script, cached=int(found[1]))
    if found := re.fullmatch(r"status-(\d{3})(?:-(after|date)-(\d+(?:\.\d+)?))?(?:-code-(\w+))?", word):
        wait = None if found[3] is None else float(found[3])
        script = replace(script, status=int(found[1]), retry_after=wait, retry_as_date=found[2] == "date")
        return replace(script, error_code=found[4], body="error")
    if word in ("garbage", "html", "json", "notchunks", "nothttp", "disconnect", "redirect"):
        return replace(script, body=word)
    if word == "empty":
        return replace(script, chunks=0)
    if word == "nousage":
        return replace(script, usage=False)
    if word == "dirty":
        return replace(script, dirty=True)
    return _ending(script, word)


def _ending(script: Behaviour, word: str) -> Behaviour:
    found = re.fullmatch(
        r"(cut-clean|cut|stall|length|filter|finish-error|error-in-stream|error-stall)(?:-(\d+))?(?:-code-(\w+))?", word
    )
    if not found:
        return script
    usual = {"cut-clean": 5, "cut": 5, "stall": 2, "length": script.chunks, "filter": script.chunks}
    chunks = int(found[2]) if found[2] else usual.get(found[1], 0)
    return replace(script, ending=found[1], chunks=chunks, error_code=found[3] or script.error_code)


def pieces(prompt: str, count: int) -> list[str]:
    """``count`` pieces of text that depend on the prompt alone; the first names the prompt's hash."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
    seed = int(digest[:12], 16)
    found = [f"#{digest[:8]} "]
    for _ in range(count - 1):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(_WORDS[(seed >> 33) % len(_WORDS)] + " ")
    return found[:count]


def answer_text(prompt: str, count: int) -> str:
    """The whole text that the fake provider sends for ``prompt`` in ``count`` pieces."""
    return "".join(pieces(prompt, count))
