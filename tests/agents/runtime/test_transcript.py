"""Earlier messages as a model gets them."""

from __future__ import annotations

import json

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse

from agents.runtime.transcript import to_messages
from agents.runtime.types import Said


def test_messages_that_cannot_be_read_are_replaced_by_their_text() -> None:
    """An unknown part kind fails the whole list, so the plain text stands by."""
    unknown = json.dumps([{"kind": "response", "parts": [{"part_kind": "hologram"}], "model_name": "m"}])
    for stored in (unknown, "not json", "[]", "{}"):
        [message] = to_messages([Said("assistant", "plain", stored)])
        assert isinstance(message, ModelResponse)
        assert message.text == "plain"


def test_a_message_without_text_is_not_sent() -> None:
    messages = to_messages([Said("user", "a"), Said("assistant", "  "), Said("user", "b")])
    assert [type(m) for m in messages] == [ModelRequest, ModelRequest]


@pytest.mark.parametrize(
    "stored",
    [
        # As earlier releases of the library wrote them.
        '[{"parts":[{"content":"hi","part_kind":"text"}],"model_name":"m","timestamp":"2025-01-01T00:00:00Z",'
        '"kind":"response","usage":{"requests":1,"request_tokens":3,"response_tokens":4}}]',
        '[{"parts":[{"content":"hi","part_kind":"text","a_field_to_come":1}],"kind":"response"}]',
    ],
)
def test_messages_of_other_versions_are_read(stored: str) -> None:
    [message] = to_messages([Said("assistant", "plain", stored)])
    assert isinstance(message, ModelResponse)
    assert message.text == "hi"
