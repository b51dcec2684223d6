"""Providers, the first look, and keys at rest (conversations.md, Agents and models)."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agents.models import Agent, ChatModel, ModelProvider
from agents.runtime import localmodel
from agents.services import first_look_ensure, provider_add
from agents.services.catalogue import provider_save
from core.errors import Refusal
from tests.factories import NOW, make_provider


def add(**fields: Any) -> Any:
    given: dict[str, Any] = {
        "kind": "openai",
        "name": "Fast",
        "base_url": "https://api.example.com/v1",
        "model": "small",
        "now": NOW,
    }
    return provider_add(**(given | fields))


def test_provider_model_and_shared_agent_come_in_one_act(db: None):
    provider, model, agent = add(agent="Helper", key="sk-secret")
    assert (provider.kind, provider.base_url, model.provider, model.name) == (
        "openai", "https://api.example.com/v1", provider, "small",
    )  # fmt: skip
    assert (agent.owner, agent.name, agent.model) == (None, "Helper", model)


def test_saying_it_again_changes_what_differs_and_doubles_nothing(db: None):
    add(agent="Helper")
    provider, model, agent = add(agent="Helper", base_url="https://other.example.com/v1", model="large", key_env="KEY")
    assert (ModelProvider.objects.get(), Agent.objects.get()) == (provider, agent)
    assert (provider.base_url, provider.key_env) == ("https://other.example.com/v1", "KEY")
    assert [row.name for row in ChatModel.objects.order_by("id")] == ["small", "large"]
    assert agent.model == model


@pytest.mark.parametrize(
    ("fields", "path", "code"),
    [
        ({"kind": "oracle"}, "kind", "choice_unknown"),
        ({"name": " "}, "name", "required"),
        ({"model": ""}, "model", "required"),
        ({"base_url": ""}, "base_url", "required"),
        ({"base_url": "ftp://example.com"}, "base_url", "wrong_type"),
        ({"agent": " "}, "agent", "required"),
        ({"name": "x" * 101}, "name", "too_long"),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_made(fields: dict[str, Any], path: str, code: str, db: None):
    with pytest.raises(Refusal) as caught:
        add(**fields)
    assert [(error.path, error.code) for error in caught.value.fields] == [(path, code)]
    assert not ModelProvider.objects.exists()


def test_a_key_is_never_in_the_database_as_it_is(db: None):
    provider = provider_save(provider=make_provider(), values={}, key="sk-secret", now=NOW)
    assert "sk-secret" not in str(list(ModelProvider.objects.values()))
    assert provider_save(provider=provider, values={}, key="", now=NOW).key_encrypted == ""


def test_a_fresh_installation_answers_with_the_small_model(db: None):
    agent = first_look_ensure(local=True, now=NOW)
    assert (agent.name, agent.owner, agent.model.provider.kind) == ("Assistant", None, "local")
    assert (agent.model.name, agent.model.context_window) == (localmodel.MODEL, localmodel.CONTEXT_WINDOW)
    assert set(ModelProvider.objects.values_list("kind", flat=True)) == {"demo", "local"}


def test_where_it_cannot_run_the_demo_provider_answers_and_is_labelled_as_such(db: None):
    agent = first_look_ensure(local=False, now=NOW)
    assert agent.model.provider.kind == "demo"
    assert "demo" in str(agent.model).lower()


def test_every_start_says_it_and_nothing_doubles(db: None):
    for local in (True, True, False, True):
        agent = first_look_ensure(local=local, now=NOW)
        assert agent.model.provider.kind == ("local" if local else "demo")
    assert (Agent.objects.count(), ModelProvider.objects.count(), ChatModel.objects.count()) == (1, 2, 2)


def test_an_agent_that_an_operator_moved_stays_where_it_is(db: None):
    first_look_ensure(local=True, now=NOW)
    _, model, agent = add(agent="Assistant")
    assert first_look_ensure(local=True, now=NOW).model == model
    Agent.objects.filter(pk=agent.pk).update(name="Renamed")
    first_look_ensure(local=True, now=NOW)
    assert Agent.objects.count() == 1


def test_the_command_adds_all_three_and_warns_of_a_variable_that_is_not_set(db: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    out, err = io.StringIO(), io.StringIO()
    arguments = ["openai", "Fast", "--base-url", "http://127.0.0.1:9/v1", "--key-env", "MY_KEY", "--model", "m"]
    call_command("add_provider", *arguments, "--agent", "Helper", stdout=out, stderr=err)
    agent = Agent.objects.get()
    assert agent.public_id in out.getvalue()
    assert "MY_KEY" in err.getvalue()


def test_the_command_says_what_is_wrong(db: None):
    with pytest.raises(CommandError, match="base_url"):
        call_command("add_provider", "openai", "Fast", "--model", "m")
