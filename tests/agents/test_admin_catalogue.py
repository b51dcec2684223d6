"""Providers, models and agents as operators keep them: keys go in and never out, what is used leaves a tombstone."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from agents.models import Agent, ChatModel, ModelProvider
from agents.selectors import agent_facts, provider_key
from agents.services import provider_add
from agents.services.catalogue import agent_delete, agent_save, model_delete, model_save, provider_delete, provider_save
from agents.services.trying import provider_try
from core.errors import Refusal
from tests.factories import make_agent, make_provider
from tests.fakes.provider import fake_provider

KEY = "a-key-that-nobody-sees"


@pytest.fixture
def operator_client(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def page_of(row: Any) -> str:
    return reverse(f"admin:agents_{row._meta.model_name}_change", args=[row.pk])


def codes(refused: Any) -> dict[str, str]:
    return {error.path: error.code for error in refused.value.fields}


def test_a_key_is_sealed_kept_replaced_and_removed(operator_client: Client) -> None:
    """quality.md, secrets: encrypted at rest, write-only in the form."""
    data = {"kind": "openai", "name": "One", "base_url": "https://api.example.com/v1", "enabled": "on", "key": KEY}
    assert operator_client.post(reverse("admin:agents_modelprovider_add"), data).status_code == 302
    provider = ModelProvider.objects.get(name="One")
    assert provider_key(provider) == KEY
    assert KEY not in provider.key_encrypted
    page = page_of(provider)
    shown = operator_client.get(page).content.decode()
    assert KEY not in shown
    assert provider.key_encrypted not in shown
    assert "A key is stored" in shown
    del data["kind"]
    for sent, expected in (
        ({"key": ""}, KEY),
        ({"key": "another-key"}, "another-key"),
        ({"key": "", "clear_key": "on"}, None),
    ):
        assert operator_client.post(page, {**data, **sent}).status_code == 302
        provider.refresh_from_db()
        assert provider_key(provider) == expected


def test_a_refused_provider_is_not_stored_and_says_so_at_the_field(operator_client: Client) -> None:
    data = {"kind": "openai", "name": "One", "base_url": "ftp://example.com", "key": KEY, "key_env": "SOME_KEY"}
    answer = operator_client.post(reverse("admin:agents_modelprovider_add"), data)
    wrong = answer.context["adminform"].form.errors
    assert "http or https" in str(wrong["base_url"])
    assert "empty where a key is given" in str(wrong["key_env"])
    assert KEY not in answer.content.decode()
    assert not ModelProvider.objects.exists()


def test_a_provider_that_nothing_uses_goes_and_one_that_is_used_leaves_a_tombstone(
    make_agent: Any, make_provider: Any, operator_client: Client, now: Any
) -> None:
    """projects.md: agents, models, providers that something points to are deleted as tombstones."""
    unused = make_provider()
    assert provider_delete(provider=unused, now=now)
    assert not ModelProvider.objects.filter(pk=unused.pk).exists()
    agent = make_agent()
    provider = provider_save(provider=agent.model.provider, values={}, key=KEY, now=now)
    page = reverse("admin:agents_modelprovider_delete", args=[provider.pk])
    assert operator_client.post(page, {"post": "yes"}).status_code == 302
    provider.refresh_from_db()
    agent.model.refresh_from_db()
    assert (provider.key_encrypted, provider.enabled) == ("", False)
    assert provider.deleted_at and agent.model.deleted_at
    facts = agent_facts([agent.pk])[agent.pk]
    assert (facts.deleted, facts.model_ok) == (False, False)


def test_an_agent_that_a_schedule_uses_leaves_an_empty_tombstone(
    alice: Any, make_agent: Any, make_schedule: Any, now: Any
) -> None:
    unused, used = make_agent(), make_agent(instructions="Be brief.", description="Short")
    make_schedule(owner=alice, agent=used)
    assert agent_delete(agent=unused, now=now)
    assert not agent_delete(agent=used, now=now)
    assert not agent_delete(agent=used, now=now)
    used.refresh_from_db()
    assert (used.name, used.instructions, used.description, used.deleted_at) == ("", "", "", now)
    assert not Agent.objects.filter(pk=unused.pk).exists()
    with pytest.raises(Refusal, match="nothing here"):
        agent_save(agent=used, values={"name": "Back"}, now=now)


def test_a_selection_is_deleted_row_by_row(
    alice: Any, make_agent: Any, make_schedule: Any, operator_client: Client
) -> None:
    rows = [make_agent() for _ in range(3)]
    make_schedule(owner=alice, agent=rows[0])
    data = {"action": "delete_selected", "_selected_action": [row.pk for row in rows[:2]], "index": 0}
    listing = reverse("admin:agents_agent_changelist")
    assert rows[0].name in operator_client.post(listing, data).content.decode()
    assert operator_client.post(listing, {**data, "post": "yes"}).status_code == 302
    assert list(Agent.objects.filter(deleted_at=None)) == [rows[2]]
    assert rows[0].name not in operator_client.get(listing).content.decode()
    assert Agent.objects.filter(pk=rows[0].pk).exists()


def test_a_tombstone_can_be_looked_at_and_not_changed(
    alice: Any, make_agent: Any, make_schedule: Any, operator_client: Client, now: Any
) -> None:
    agent = make_agent()
    make_schedule(owner=alice, agent=agent)
    agent_delete(agent=agent, now=now)
    assert operator_client.get(page_of(agent)).status_code == 200
    assert operator_client.post(page_of(agent), {"name": "Back"}).status_code == 403


def test_models_and_agents_are_refused_with_every_wrong_field(make_model: Any, now: Any) -> None:
    model = make_model(name="large")
    with pytest.raises(Refusal) as refused:
        model_save(model=None, values={"provider": model.provider, "name": "large", "price_input": -1}, now=now)
    assert codes(refused) == {"name": "name_taken", "price_input": "out_of_range"}
    wrong = {"name": " ", "model": model, "temperature": 3.0, "deadline_seconds": 5, "tools": []}
    with pytest.raises(Refusal) as refused:
        agent_save(agent=None, values=wrong, now=now)
    assert codes(refused) == {
        "name": "required", "temperature": "out_of_range", "deadline_seconds": "out_of_range", "tools": "wrong_type",
    }  # fmt: skip
    model_save(model=model, values={"enabled": False, "label": "Large"}, now=now)
    assert not model_delete(model=ChatModel(), now=now)


def test_no_two_live_providers_of_a_kind_share_a_name(now: Any, db: None) -> None:
    """What `add_provider` finds by kind and name is one."""
    values = {"kind": "openai", "name": "Fast", "base_url": "https://api.example.com/v1"}
    first = provider_save(provider=None, values=values, now=now)
    assert first.created_at == now
    for provider, wrong in ((None, values), (make_provider(name="Slow"), {"name": " Fast "})):
        with pytest.raises(Refusal) as refused:
            provider_save(provider=provider, values=wrong, now=now)
        assert codes(refused) == {"name": "name_taken"}
    provider_save(provider=None, values=values | {"kind": "anthropic"}, now=now)
    added, _, _ = provider_add(kind="openai", name="Fast", base_url=values["base_url"], model="small", now=now)
    assert added == first
    make_agent(model=ChatModel.objects.get(provider=first))
    provider_delete(provider=first, now=now)
    assert provider_save(provider=None, values=values, now=now) != first


@pytest.mark.parametrize("what", ["provider", "model"])
def test_a_name_that_is_taken_meanwhile_is_refused_by_the_database(
    what: str, make_model: Any, now: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two at once one finds the name free and is too late."""
    model = make_model(name="large")
    looks = iter([False, True])
    monkeypatch.setattr("agents.services.catalogue._twin", lambda row: next(looks))
    with pytest.raises(Refusal) as refused:
        if what == "provider":
            same = {name: getattr(model.provider, name) for name in ("kind", "name", "base_url")}
            provider_save(provider=None, values=same, now=now)
        else:
            model_save(model=None, values={"provider": model.provider, "name": "large"}, now=now)
    assert codes(refused) == {"name": "name_taken"}


def test_an_agent_is_made_and_changed_in_the_admin(alice: Any, make_model: Any, operator_client: Client) -> None:
    model = make_model()
    data = {"name": "Writer", "model": model.pk, "owner": alice.pk, "tools": "{}", "enabled": "on"}
    assert operator_client.post(reverse("admin:agents_agent_add"), data).status_code == 302
    agent = Agent.objects.get()
    assert (agent.name, agent.owner, agent.tools) == ("Writer", alice, {})
    changed = {**data, "name": "Editor", "owner": "", "temperature": "0.5"}
    assert operator_client.post(page_of(agent), changed).status_code == 302
    agent.refresh_from_db()
    assert (agent.name, agent.owner, agent.temperature) == ("Editor", None, 0.5)
    wrong = operator_client.post(page_of(agent), {**changed, "temperature": "9"})
    assert "Between 0 and 2" in str(wrong.context["adminform"].form.errors["temperature"])


def test_a_provider_is_tried_with_one_question(
    make_provider: Any, make_model: Any, operator_client: Client, now: Any
) -> None:
    """interfaces.md, Admin: providers with "test"."""
    with fake_provider() as server:
        provider = make_provider(base_url=server.url, name="Fake")
        with pytest.raises(Refusal):
            provider_try(provider=provider, now=now)
        make_model(provider=provider)
        tried = provider_try(provider=provider, now=now)
        assert tried.answered
        assert tried.text
        answer = operator_client.post(
            reverse("admin:agents_modelprovider_act", args=[provider.pk, "try_it"]), follow=True
        )
        assert "Fake answered in" in " ".join(map(str, answer.context["messages"]))
        server.become("down")
        failed = provider_try(provider=provider, now=now)
        assert not failed.answered
        assert failed.text.startswith("The provider could not be reached.")
