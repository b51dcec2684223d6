"""`/api/v1/agents` (wire.md)."""

from __future__ import annotations

from typing import Any

from tests.factories import make_agent, make_model
from tests.support.calls import caller, code_of

URL = "/api/v1/agents"


def test_an_agent_has_what_a_picker_needs_and_nothing_of_its_provider(alice: Any):
    model = make_model(name="gpt-small", label="Small")
    agent = make_agent(
        name="Helper", description="Helps", model=model, instructions="Secret", tools={"clock": "always"}
    )
    shown = caller(alice).get(f"{URL}/{agent.public_id}").json()
    assert shown == {
        "id": agent.public_id,
        "name": "Helper",
        "description": "Helps",
        "model": "Small",
        "tools": {"clock": "always"},
        "state": "ready",
    }


def test_lists_hold_what_can_be_picked_by_name(alice: Any, django_assert_max_num_queries: Any):
    for name in ("Writer", "Coder"):
        make_agent(name=name)
    off = make_agent(name="Off", enabled=False)
    client = caller(alice)
    with django_assert_max_num_queries(3):
        listed = client.get(URL).json()["results"]
    assert [shown["name"] for shown in listed] == ["Coder", "Writer"]
    assert [shown["name"] for shown in client.get(f"{URL}?q=writ").json()["results"]] == ["Writer"]
    assert client.get(f"{URL}/{off.public_id}").json()["state"] == "disabled"


def test_agents_are_there_to_be_read(alice: Any):
    answer = caller(alice).post(URL, {"name": "Mine"}, format="json")
    assert (answer.status_code, code_of(answer)) == (405, "method_not_allowed")
