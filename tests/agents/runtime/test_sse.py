"""The merger: fewer events, the same meaning."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import AsyncOpenAI
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from agents.runtime import sse
from agents.runtime.sse import DeltaMerger, Dialect

WORDS = ["Hello", " world", "\n", " ", "ümläut 😀", "<think>", "</think>", "<thi", "nk>", '"quoted"', "\\n", "\u2028"]


def event(data: Any, end: str = "\n\n", name: str | None = None) -> bytes:
    head = f"event: {name}{end[: len(end) // 2]}" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}{end}".encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]} | more


def merged(data: bytes, cuts: list[int], dialect: Dialect = "openai", takes: bool = False) -> bytes:
    """``data`` through a merger, cut at ``cuts``; ``takes`` hands out after every piece, as a read does."""
    merger, out = DeltaMerger(dialect), list[bytes]()
    edges = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, end in itertools.pairwise(edges):
        merger.feed(data[start:end], out)
        if takes:
            out += merger.take()
    return b"".join(out + merger.take(final=True))


def fold(data: bytes) -> list[Any]:
    """The meaning of a stream: neighbouring deltas that differ in one text only, joined; all else as it is."""
    found: list[Any] = []
    for raw in data.replace(b"\r\n", b"\n").split(b"\n\n"):
        line = raw.rpartition(b"data: ")[2]
        try:
            value = json.loads(line)
        except ValueError:
            found.append(raw)
            continue
        place = _place(value)
        if place is None:
            found.append(value)
            continue
        slot, name = place
        text, slot[name] = slot[name], None
        value.pop("created", None)
        value.pop("obfuscation", None)
        if found and isinstance(found[-1], tuple) and found[-1][0] == (name, value):
            found[-1] = (found[-1][0], found[-1][1] + text)
        else:
            found.append(((name, value), text))
    return found


def _place(value: Any) -> tuple[dict[str, Any], str] | None:
    slot = value.get("delta") if isinstance(value, dict) and "delta" in value else None
    if isinstance(value, dict) and value.get("choices"):
        slot = value["choices"][0].get("delta")
    for name in ("content", "reasoning_content", "text", "thinking", "partial_json"):
        if isinstance(slot, dict) and isinstance(slot.get(name), str):
            return slot, name
    calls = (slot or {}).get("tool_calls")
    return (calls[0]["function"], "arguments") if calls and "name" not in calls[0]["function"] else None


def a_stream(rng: random.Random) -> list[dict[str, Any]]:
    """A random completion: role, reasoning, text, a tool call, odd fields, finish, usage."""
    out = [chunk({"role": "assistant", "content": ""})]
    for _ in range(rng.randrange(12)):
        out.append(chunk({"reasoning_content": rng.choice(WORDS)}))
    for number in range(rng.randrange(40)):
        odd: dict[int, dict[str, Any]] = {
            0: {"obfuscation": "x" * rng.randrange(9)},
            1: {"service_tier": "default"},
            2: {"created": number},
        }
        out.append(chunk({"content": rng.choice(WORDS)}, **odd.get(rng.randrange(12), {})))
    if rng.random() < 0.5:
        call = {"index": 0, "id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}
        out.append(chunk({"tool_calls": [call]}))
        for part in ('{"a"', ": ", '"b', 'c"}'):
            out.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}))
    out.append(chunk({}, finish="stop"))
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    return [*out, {**chunk({}), "choices": [], "usage": usage}]


def as_bytes(chunks: list[dict[str, Any]], end: str = "\n\n") -> bytes:
    body = b"".join(event(data, end) for data in chunks)
    return b": hello" + end.encode() + body + b"data: [DONE]" + end.encode()


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 9000), max_size=30), st.booleans(), st.booleans())
def test_any_stream_cut_anywhere_keeps_its_meaning(seed: int, cuts: list[int], crlf: bool, takes: bool) -> None:
    data = as_bytes(a_stream(random.Random(seed)), "\r\n\r\n" if crlf else "\n\n")
    assert fold(merged(data, cuts, takes=takes)) == fold(data)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=9))
def test_bytes_that_are_no_events_come_out_as_they_went_in(data: bytes, cuts: list[int]) -> None:
    data = data.replace(b"\r", b"")
    assert merged(data, cuts) == data


def answer_of(data: bytes, model_name: str) -> ModelResponse:
    """What the agent library makes of a stream's bytes."""

    async def body() -> AsyncIterator[bytes]:
        yield data

    async def main() -> ModelResponse:
        headers = {"content-type": "text/event-stream"}
        transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, content=body()))
        sdk = AsyncOpenAI(base_url="http://x/v1", api_key="k", http_client=httpx2.AsyncClient(transport=transport))
        model = OpenAIChatModel(model_name, provider=OpenAICompatibleProvider("x", openai_client=sdk))
        async with model_request_stream(model, [ModelRequest.user_text_prompt("hi")]) as stream:
            async for _ in stream:
                pass
            return stream.get()

    return asyncio.run(main())


@pytest.mark.parametrize("model_name", ["m", "qwen/qwen3", "deepseek/deepseek-r1"])
@pytest.mark.parametrize("seed", range(8))
def test_the_agent_library_reads_the_same_answer_from_the_merged_stream(seed: int, model_name: str) -> None:
    """Also thinking tags, which it knows only as a whole delta, and models whose leading blanks it drops."""
    data = as_bytes(a_stream(random.Random(seed)))
    plain, less = answer_of(data, model_name), answer_of(merged(data, []), model_name)
    assert [(type(p), getattr(p, "content", None), getattr(p, "args", None)) for p in plain.parts] == [
        (type(p), getattr(p, "content", None), getattr(p, "args", None)) for p in less.parts
    ]
    assert (plain.usage, plain.finish_reason) == (less.usage, less.finish_reason)


def test_neighbours_become_one_event() -> None:
    data = as_bytes([chunk({"content": word}) for word in ("a", "b", "c")])
    assert merged(data, []).count(b"data: {") == 1


@pytest.mark.parametrize(
    "other",
    [
        chunk({"content": "b"}, finish="stop"),
        chunk({"content": "b"}, usage={"prompt_tokens": 1}),
        chunk({"content": "b"}, system_fingerprint="other"),
        chunk({"content": "b", "annotations": [1]}),
        chunk({"content": "b", "reasoning_content": "c"}),
        chunk({"reasoning_content": "b"}),
        {"error": {"message": "no"}},
    ],
)
def test_an_event_that_carries_more_than_a_text_is_left_alone(other: dict[str, Any]) -> None:
    data = as_bytes([chunk({"content": "a"}), other, chunk({"content": "c"})])
    assert event(other) in merged(data, [])


def test_usage_in_every_event_is_never_merged_away() -> None:
    """The library adds them up."""
    data = as_bytes([chunk({"content": word}, usage={"completion_tokens": 1}) for word in ("a", "b")])
    assert merged(data, []).count(b"completion_tokens") == 2


def test_two_pieces_that_would_join_to_a_tag_stay_apart() -> None:
    out = merged(as_bytes([chunk({"content": "<thi"}), chunk({"content": "nk>"})]), [])
    assert b'"<thi"' in out
    assert b'"<think>"' not in out


def test_a_half_character_as_json_escape_is_passed_on() -> None:
    data = rb'data: {"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}' + b"\n\n"
    merger, out = DeltaMerger("openai"), list[bytes]()
    merger.feed(data, out)
    assert (b"".join(out), merger.nonsense) == (data, False)


def test_an_event_without_end_is_handed_on_and_not_kept() -> None:
    """A provider cannot fill the memory with one event."""
    merger, out = DeltaMerger("openai"), list[bytes]()
    for _ in range(3):
        merger.feed(b"x" * sse.OVERSIZE, out)
    assert len(b"".join(out)) == 3 * sse.OVERSIZE


@pytest.mark.parametrize(
    ("data", "nonsense"), [(b"data: %%%\n\n", True), (b"data: [1]\n\n", True), (b"data: [DONE]\n\n", False)]
)
def test_events_that_are_no_json_objects_are_noticed(data: bytes, nonsense: bool) -> None:
    merger = DeltaMerger("openai")
    merger.feed(data, [])
    assert merger.nonsense is nonsense


def anthropic_stream(rng: random.Random) -> bytes:
    out = event({"type": "message_start", "message": {"id": "m"}}, name="message_start")
    for _ in range(rng.randrange(30)):
        kind, field = rng.choice(
            [("text_delta", "text"), ("thinking_delta", "thinking"), ("input_json_delta", "partial_json")]
        )
        delta = {"type": kind, field: rng.choice(WORDS)}
        data = {"type": "content_block_delta", "index": rng.randrange(2), "delta": delta}
        out += event(data, name="content_block_delta")
        if rng.random() < 0.1:
            signed = {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}
            out += event({"type": "ping"}, name="ping") + event(signed, name="content_block_delta")
    return out + event({"type": "message_stop"}, name="message_stop")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 6000), max_size=20), st.booleans())
def test_anthropic_streams_keep_their_meaning_too(seed: int, cuts: list[int], takes: bool) -> None:
    data = anthropic_stream(random.Random(seed))
    assert fold(merged(data, cuts, "anthropic", takes)) == fold(data)


def test_anthropic_neighbours_become_one_event_with_its_name() -> None:
    one = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ab"}}
    data = b"".join(
        event({**one, "delta": {"type": "text_delta", "text": text}}, name="content_block_delta") for text in "ab"
    )
    out = merged(data, [], "anthropic")
    assert out.count(b"event: content_block_delta\n") == 1
    assert orjson.loads(out.partition(b"data: ")[2]) == one
