"""Merging server-sent events: neighbours that differ in one piece of text become one event.

A provider sends one event per token. What comes above (the SDK's models, a dozen nested generators of the agent
library) costs the same per event whatever its size, so what arrived in one read of the socket is handed on as one
event. Everything else passes through untouched and in order: role, finish reason, usage, errors, comments, unknown
fields. The rule is that two events merge only when they are equal but for that one text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import orjson

Dialect = Literal["openai", "anthropic"]

OVERSIZE = 1_000_000
"""Bytes of one event above which nothing is merged any more on this stream."""

_TAG = re.compile(r"\s*[<\[]/?[\w|:-]*[>\]]\s*")
"""Libraries recognise ``<think>`` and its like by comparing them with a whole delta."""

_VOLATILE = ("created", "obfuscation")
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning")


@dataclass
class Piece:
    """One event that carries nothing but a text: ``slot[field]``, inside ``data``."""

    raw: bytes
    data: dict[str, Any]
    slot: dict[str, Any]
    field: str
    text: str
    volatile: dict[str, Any]
    prefix: bytes

    def same_place(self, other: Piece) -> bool:
        """Whether the other event is equal but for the text."""
        return self.field == other.field and self.data == other.data

    def with_text(self, text: str) -> bytes:
        self.slot[self.field] = text
        return self.prefix + orjson.dumps({**self.data, **self.volatile}) + b"\n\n"


class DeltaMerger:
    """Bytes of an event stream in, bytes of an equivalent one out.

    ``saw_text`` turns true with the first text or reasoning, ``ended`` with the finish reason. ``events`` counts the
    events that carried data, ``nonsense`` is true when one of them was not JSON.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.saw_text = self.ended = self.nonsense = False
        self.events = 0
        self._read: Callable[[bytes], Piece | None] = {"openai": self._openai, "anthropic": self._anthropic}[dialect]
        self._tail = b""
        self._group: list[Piece] = []
        self._plain = False

    def feed(self, data: bytes, out: list[bytes]) -> None:
        """Take the next bytes; what can be handed on already is appended to ``out``."""
        if self._plain:
            out.append(data)
            return
        data = self._tail + data
        if b"\r" in data:
            held = b"\r" if data.endswith(b"\r") else b""
            data = data[: len(data) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        *events, self._tail = data.split(b"\n\n")
        for event in events:
            self._take_in(event, out)
        if len(self._tail) > OVERSIZE:
            self._plain = True
            out += [*self.take(), self._tail]
            self._tail = b""

    def take(self, final: bool = False) -> list[bytes]:
        """Hand out what was held for merging; ``final`` adds the rest of an unfinished event."""
        out: list[bytes] = []
        group, self._group = self._group, []
        if group:
            text = "".join(piece.text for piece in group)
            if len(group) == 1 or _TAG.fullmatch(text):
                out += [piece.raw for piece in group]
            else:
                out.append(group[0].with_text(text))
        if final and self._tail:
            out.append(self._tail)
            self._tail = b""
        return out

    def _take_in(self, event: bytes, out: list[bytes]) -> None:
        piece = self._read(event)
        if piece and _TAG.fullmatch(piece.text):
            piece = None
        if piece and self._group and piece.same_place(self._group[0]):
            self._group.append(piece)
            return
        out += self.take()
        # Blanks before the first text mean something else to a library than blanks within it.
        if piece and not piece.text.isspace():
            self._group = [piece]
        else:
            out.append(event + b"\n\n")

    def _load(self, payload: bytes) -> dict[str, Any] | None:
        self.events += 1
        try:
            data = orjson.loads(payload)
        except orjson.JSONDecodeError:
            # Lone surrogates are JSON to others and not to orjson: left as they are, and no nonsense.
            self.nonsense = self.nonsense or b"\\ud" not in payload.lower()
            return None
        if not isinstance(data, dict):
            self.nonsense = True
            return None
        return data

    def _openai(self, event: bytes) -> Piece | None:
        """Chat completion chunks of choice 0 with one of content, reasoning, or arguments of one tool call."""
        if not event.startswith(b"data:") or b"\n" in event:
            return None
        payload = event[5:].strip()
        if payload.startswith(b"[DONE]"):
            self.ended = True
            return None
        chunk = self._load(payload)
        choices = chunk and chunk.get("choices")
        if not chunk or not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
            return None
        choice = choices[0]
        self.ended = self.ended or bool(choice.get("finish_reason"))
        place = _openai_place(choice.get("delta"))
        if place is None:
            return None
        self.saw_text = True
        if chunk.get("usage") or chunk.get("error") or choice.get("finish_reason") or choice.get("logprobs"):
            return None
        if choice.get("index") not in (0, None):
            return None
        volatile = {name: chunk.pop(name) for name in _VOLATILE if name in chunk}
        return _piece(event, chunk, place, volatile, b"data: ")

    def _anthropic(self, event: bytes) -> Piece | None:
        """``content_block_delta`` events with text, thinking or tool arguments."""
        head, _, line = event.partition(b"\n")
        if not line.startswith(b"data:") or b"\n" in line:
            return None
        data = self._load(line[5:].strip())
        if not data or data.get("type") != "content_block_delta":
            self.ended = self.ended or bool(data and data.get("type") in ("message_delta", "message_stop"))
            return None
        delta = data.get("delta")
        kinds = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
        if not isinstance(delta, dict) or delta.get("type") not in kinds:
            return None
        field = kinds[delta["type"]]
        if not isinstance(delta.get(field), str) or not delta[field]:
            return None
        self.saw_text = True
        if set(delta) != {"type", field} or set(data) != {"type", "index", "delta"}:
            return None
        return _piece(event, data, (delta, field), {}, head + b"\ndata: ")


def _openai_place(delta: Any) -> tuple[dict[str, Any], str] | None:
    """Where the one text of a delta stands; None when there is none, or anything beside it but a role."""
    if not isinstance(delta, dict):
        return None
    filled = [name for name, value in delta.items() if name != "role" and value]
    if len(filled) != 1:
        return None
    name = filled[0]
    if name in _TEXT_FIELDS and isinstance(delta[name], str):
        return delta, name
    calls = delta[name]
    if name != "tool_calls" or not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict):
        return None
    function = calls[0].get("function")
    if calls[0].get("id") or not isinstance(function, dict) or function.get("name"):
        return None
    arguments = function.get("arguments")
    return (function, "arguments") if isinstance(arguments, str) and arguments else None


def _piece(
    event: bytes, data: dict[str, Any], place: tuple[dict[str, Any], str], volatile: dict[str, Any], prefix: bytes
) -> Piece:
    slot, field = place
    text = slot[field]
    slot[field] = None
    return Piece(event + b"\n\n", data, slot, field, text, volatile, prefix)
