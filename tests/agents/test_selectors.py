"""Who may use which agent, and what a turn needs to call its model (conversations.md, Agents and models)."""

from __future__ import annotations

from typing import Any

import pytest

from agents.models import Agent
from agents.runtime import localmodel
from agents.selectors import agent_facts, agent_find, agent_state, spec_for, state_of_agent, usable_agents
from agents.services.catalogue import provider_save
from core.crypto import Unreadable
from tests.factories import NOW, make_agent, make_model, make_provider


def load(agent: Agent) -> Agent:
    return Agent.objects.select_related("model__provider").get(pk=agent.pk)


def test_shared_agents_and_ones_own_are_usable(alice: Any, bob: Any):
    shared, mine = make_agent(name="A"), make_agent(name="B", owner=alice)
    make_agent(owner=bob)
    assert list(usable_agents(alice)) == [shared, mine]
    assert agent_find(bob, mine.public_id) is None


OFF: dict[str, Any] = {
    "deleted": ({}, {}, {"deleted_at": NOW}),
    "disabled": ({}, {}, {"enabled": False}),
    "model off": ({}, {"enabled": False}, {}),
    "model gone": ({}, {"deleted_at": NOW}, {}),
    "provider off": ({"enabled": False}, {}, {}),
    "provider gone": ({"deleted_at": NOW}, {}, {}),
}


@pytest.mark.parametrize("why", OFF)
def test_what_is_off_or_gone_cannot_be_picked_and_says_why(why: str, alice: Any, django_assert_num_queries: Any):
    provider, model, agent = OFF[why]
    made = make_agent(model=make_model(provider=make_provider(**provider), **model), **agent)
    assert not usable_agents(alice).exists()
    with django_assert_num_queries(1):
        facts = agent_facts([made.pk, 999_999])
    assert set(facts) == {made.pk}
    state = {"deleted": "deleted", "disabled": "disabled"}.get(why, "model_unavailable")
    assert agent_state(facts[made.pk]) == state_of_agent(load(made)) == state
    assert facts[made.pk].model_ok is (state != "model_unavailable")


def test_the_call_has_what_agent_model_and_provider_say(settings: Any, db: None):
    settings.CONNECT_SECONDS, settings.FIRST_TOKEN_SECONDS = 3, 30
    provider = make_provider(kind="anthropic", base_url="https://api.example.com")
    provider_save(provider=provider, values={}, key="sk-secret", now=NOW)
    model = make_model(provider=provider, name="big", context_window=9000)
    agent = make_agent(model=model, instructions="Be brief.", temperature=0.5, max_output_tokens=77)
    spec = spec_for(load(agent), request_timeout=12.5)
    assert (spec.kind, spec.model, spec.base_url) == ("anthropic", "big", "https://api.example.com")
    assert (spec.api_key, spec.instructions, spec.temperature) == ("sk-secret", "Be brief.", 0.5)
    assert (spec.max_output_tokens, spec.context_window, spec.request_timeout) == (77, 9000, 12.5)
    assert (spec.connect_timeout, spec.first_token_timeout) == (3, 30)
    assert "sk-secret" not in repr(spec)


def test_a_key_can_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch, db: None):
    provider = make_provider()
    provider_save(provider=provider, values={"key_env": "MY_KEY"}, now=NOW)
    agent = load(make_agent(model=make_model(provider=provider)))
    assert spec_for(agent, request_timeout=1).api_key is None
    monkeypatch.setenv("MY_KEY", "from-outside")
    assert spec_for(agent, request_timeout=1).api_key == "from-outside"


def test_a_key_of_another_deployment_is_an_error_and_never_no_key(settings: Any, db: None):
    provider = make_provider()
    provider_save(provider=provider, values={}, key="sk-secret", now=NOW)
    settings.ENCRYPTION_KEY = "another"
    with pytest.raises(Unreadable):
        spec_for(load(make_agent(model=make_model(provider=provider))), request_timeout=1)


def test_the_small_model_is_found_where_it_runs(monkeypatch: pytest.MonkeyPatch, settings: Any, db: None):
    agent = load(make_agent(model=make_model(provider=make_provider(kind="local", base_url=""))))
    assert spec_for(agent, request_timeout=1).base_url is None
    running = localmodel.LocalEndpoint("http://127.0.0.1:1234/v1", "random", 1, "now")
    monkeypatch.setattr(localmodel, "endpoint", lambda folder: running if folder == settings.DATA_DIR else None)
    spec = spec_for(agent, request_timeout=1)
    assert (spec.base_url, spec.api_key) == ("http://127.0.0.1:1234/v1", "random")
