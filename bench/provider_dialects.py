"""The wire formats that the fake provider speaks: OpenAI chat completions, Anthropic messages, Gemini.

A dialect reads a request and writes the events of a stream. Every method returns whole server-sent events.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.provider_behaviours import Behaviour


@dataclass
class Asked:
    """One request as read from its body."""

    model: str
    prompt: str
    messages: list[list[str]]
    stream: bool
    wants_usage: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    key: str = ""

    @property
    def prompt_tokens(self) -> int:
        return sum(len(text.split()) + 3 for _, text in self.messages)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part.get("text", "") for part in parts if isinstance(part, dict))


def _event(data: Any, name: str | None = None) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _template(data: Any, name: str | None = None) -> Callable[[str], bytes]:
    """A writer for events that differ in one text only, without building the rest again."""
    before, after = _event(data, name).split(b'"\\u0000"')
    return lambda text: before + json.dumps(text).encode() + after


class OpenAI:
    """Chat completions, as OpenAI and the servers compatible with it stream them."""

    def __init__(self, asked: Asked, script: Behaviour, number: int) -> None:
        self.asked, self.script, self.number = asked, script, number
        self.base = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": asked.model,
        }
        self.text = _template(self._chunk({"content": "\0"}))
        self.thought = _template(self._chunk({"reasoning_content": "\0"}))

    @staticmethod
    def read(path: str, body: dict[str, Any]) -> Asked:
        messages = [[m.get("role", ""), _text(m.get("content"))] for m in body.get("messages", [])]
        prompt = next((text for role, text in reversed(messages) if role == "user"), "")
        options = body.get("stream_options") or {}
        settings = {k: v for k, v in body.items() if k not in ("messages", "stream", "stream_options", "model")}
        usage = bool(options.get("include_usage"))
        return Asked(body.get("model", ""), prompt, messages, bool(body.get("stream")), usage, settings)

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**self.base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def opening(self) -> bytes:
        return _event(self._chunk({"role": "assistant", "content": ""}))

    def between(self) -> bytes:
        """What stands between reasoning and text."""
        return b""

    def closing(self, sent: int) -> bytes:
        names = {"length": "length", "filter": "content_filter", "finish-error": "error"}
        out = _event(self._chunk({}, names.get(self.script.ending, "stop")))
        if self.asked.wants_usage and self.script.usage:
            out += _event({**self.base, "choices": [], "usage": self._usage(sent)})
        return out + b"data: [DONE]\n\n"

    def _usage(self, sent: int) -> dict[str, Any]:
        given = self.asked.prompt_tokens
        return {
            "prompt_tokens": given,
            "completion_tokens": sent,
            "total_tokens": given + sent,
            "prompt_tokens_details": {"cached_tokens": self.script.cached},
        }

    def error(self, code: str | None, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": code or "server_error", "code": code}}

    def error_event(self, code: str | None) -> bytes:
        return _event(self.error(code or "server_error", "The fake provider was told to fail."))

    def whole(self, text: str, sent: int) -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return {**self.base, "object": "chat.completion", "choices": [choice], "usage": self._usage(sent)}


class Anthropic(OpenAI):
    """The Messages API."""

    def __init__(self, asked: Asked, script: Behaviour, number: int) -> None:
        super().__init__(asked, script, number)
        self.text_index = 1 if script.thinking else 0
        self.text = _template(self._delta("text_delta", "text", self.text_index), "content_block_delta")
        self.thought = _template(self._delta("thinking_delta", "thinking", 0), "content_block_delta")

    @staticmethod
    def read(path: str, body: dict[str, Any]) -> Asked:
        asked = OpenAI.read(path, body)
        if body.get("system"):
            asked.messages.insert(0, ["system", _text(body["system"])])
        return asked

    @staticmethod
    def _delta(kind: str, key: str, index: int) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: "\0"}}

    @staticmethod
    def _start(index: int, block: dict[str, Any]) -> bytes:
        return _event({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")

    def opening(self) -> bytes:
        usage = {"input_tokens": self.asked.prompt_tokens - self.script.cached, "output_tokens": 1}
        usage["cache_read_input_tokens"] = self.script.cached
        message = {"id": self.base["id"], "type": "message", "role": "assistant", "model": self.asked.model}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        thinking = {"type": "thinking", "thinking": "", "signature": ""}
        block = thinking if self.script.thinking else {"type": "text", "text": ""}
        return _event({"type": "message_start", "message": message}, "message_start") + self._start(0, block)

    def between(self) -> bytes:
        signed = {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}
        return (
            _event(signed, "content_block_delta")
            + _event({"type": "content_block_stop", "index": 0}, "content_block_stop")
            + self._start(1, {"type": "text", "text": ""})
        )

    def closing(self, sent: int) -> bytes:
        reason = {"length": "max_tokens", "filter": "refusal"}.get(self.script.ending, "end_turn")
        delta = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}}
        return (
            _event({"type": "content_block_stop", "index": self.text_index}, "content_block_stop")
            + _event({**delta, "usage": {"output_tokens": sent}}, "message_delta")
            + _event({"type": "message_stop"}, "message_stop")
        )

    def error(self, code: str | None, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": code or "api_error", "message": message}}

    def error_event(self, code: str | None) -> bytes:
        return _event(self.error(code, "The fake provider was told to fail."), "error")


class Gemini(OpenAI):
    """Gemini's generateContent."""

    def __init__(self, asked: Asked, script: Behaviour, number: int) -> None:
        super().__init__(asked, script, number)
        self.text = _template(self._part({"text": "\0"}))
        self.thought = _template(self._part({"text": "\0", "thought": True}))

    @staticmethod
    def read(path: str, body: dict[str, Any]) -> Asked:
        messages = [[m.get("role", "user"), _text(m.get("parts"))] for m in body.get("contents", [])]
        prompt = next((text for role, text in reversed(messages) if role == "user"), "")
        if body.get("systemInstruction"):
            messages.insert(0, ["system", _text(body["systemInstruction"].get("parts"))])
        model, _, action = path.rpartition("/")[2].partition(":")
        return Asked(model, prompt, messages, action.startswith("stream"), settings=body.get("generationConfig") or {})

    def _part(self, part: dict[str, Any]) -> dict[str, Any]:
        return {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}],
            "modelVersion": self.asked.model,
        }

    def opening(self) -> bytes:
        return b""

    def closing(self, sent: int) -> bytes:
        reason = {"length": "MAX_TOKENS", "filter": "SAFETY", "finish-error": "LANGUAGE"}.get(
            self.script.ending, "STOP"
        )
        data = self._part({"text": ""})
        data["candidates"][0]["finishReason"] = reason
        given = self.asked.prompt_tokens
        data["usageMetadata"] = {
            "promptTokenCount": given,
            "candidatesTokenCount": sent,
            "totalTokenCount": given + sent,
            "cachedContentTokenCount": self.script.cached,
        }
        return _event(data)

    def error(self, code: str | None, message: str) -> dict[str, Any]:
        return {"error": {"code": self.script.status, "status": code or "UNKNOWN", "message": message}}


def dialect_for(path: str) -> type[OpenAI] | None:
    """The dialect spoken at ``path``, or None."""
    if path.endswith("/chat/completions"):
        return OpenAI
    if path.endswith("/messages"):
        return Anthropic
    if path.endswith((":streamGenerateContent", ":generateContent")):
        return Gemini
    return None
