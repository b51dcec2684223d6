"""Providers, their models and the agents on them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from agents.models import Agent, ChatModel, ModelProvider, ProviderKind
from agents.runtime import localmodel
from agents.services.noting import note_saved
from core.crypto import seal
from core.db import serialised
from core.errors import FieldError, Refusal
from core.text import tidy

LOCAL_NAME = "Small model on this machine"
DEMO_NAME = "Demo (no model)"
FIRST_AGENT = "Assistant"
DEMO_MODEL = "demo"
_FIRST_LOOK = 0x51754F32
KINDS_WITH_ADDRESS = (ProviderKind.OPENAI,)


@transaction.atomic
def provider_add(
    *,
    kind: str,
    name: str,
    base_url: str = "",
    key_env: str = "",
    key: str = "",
    model: str,
    agent: str | None = None,
    now: datetime,
) -> tuple[ModelProvider, ChatModel, Agent | None]:
    """Add a provider with one model and, when `agent` is a name, a shared agent on it.

    A provider of that kind and name that is there already is brought to the given address and key and gets the model
    beside its others, so that the command can be repeated. Raises Refusal with the fields that cannot be used.
    """
    errors = _refused(kind=kind, name=name, base_url=base_url, model=model, agent=agent)
    if errors:
        raise Refusal.of(errors)
    given = {
        "base_url": base_url.strip(),
        "key_env": key_env.strip(),
        "key_encrypted": seal(key) if key else "",
        "enabled": True,
    }
    provider, _ = ModelProvider.objects.update_or_create(
        kind=kind, name=tidy(name), deleted_at=None, defaults=given, create_defaults={**given, "created_at": now}
    )
    chat_model, _ = ChatModel.objects.get_or_create(provider=provider, name=model.strip(), deleted_at=None)
    made = _shared_agent(tidy(agent), chat_model, now) if agent is not None else None
    _note(provider, chat_model, made, now)
    return provider, chat_model, made


def _note(provider: ModelProvider, model: ChatModel, agent: Agent | None, now: datetime) -> None:
    columns = ("kind", "name", "base_url", "key_env", "key_encrypted")
    note_saved(provider, before=None, names=columns, actor=None, now=now)
    note_saved(model, before=None, names=("provider", "name"), actor=None, now=now)
    if agent is not None:
        note_saved(agent, before=None, names=("name", "model"), actor=None, now=now)


def first_look_ensure(*, local: bool, now: datetime) -> Agent:
    """Make what a fresh installation needs to answer once: the shared agent "Assistant" on a model without a key.

    `local` says whether the small model can run on this machine; otherwise the agent uses the demo provider. As long
    as the agent still stands on one of these two it follows `local`; once any agent exists nothing is made again.
    """
    with serialised(_FIRST_LOOK):
        demo = _first_look_model(ProviderKind.DEMO, DEMO_NAME, DEMO_MODEL, DEMO_NAME, now)
        small = _small_model(now) if local else None
        wanted = small or demo
        agent = Agent.objects.select_related("model__provider").order_by("id").first()
        if agent is None:
            return _shared_agent(FIRST_AGENT, wanted, now)
        kinds = (ProviderKind.DEMO, ProviderKind.LOCAL)
        if agent.name == FIRST_AGENT and agent.model_id != wanted.pk and agent.model.provider.kind in kinds:
            Agent.objects.filter(pk=agent.pk, model_id=agent.model_id).update(model=wanted)
            agent.model = wanted
        return agent


def _small_model(now: datetime) -> ChatModel:
    model = _first_look_model(ProviderKind.LOCAL, LOCAL_NAME, localmodel.MODEL, localmodel.LABEL, now)
    if model.context_window is None:
        model.context_window = localmodel.CONTEXT_WINDOW
        model.save(update_fields=["context_window"])
    return model


def _first_look_model(kind: ProviderKind, name: str, model: str, label: str, now: datetime) -> ChatModel:
    provider = ModelProvider.objects.filter(kind=kind).order_by("id").first()
    if provider is None:
        provider = ModelProvider.objects.create(kind=kind, name=name, created_at=now)
    found = provider.models.order_by("id").first()
    return found or ChatModel.objects.create(provider=provider, name=model, label=label)


def _shared_agent(name: str, model: ChatModel, now: datetime) -> Agent:
    """Return the shared agent called `name`, moved to `model`; made when there is none."""
    agent = Agent.objects.filter(owner=None, name=name, deleted_at=None).order_by("id").first()
    if agent is None:
        return Agent.objects.create(name=name, model=model, created_at=now)
    agent.model = model
    agent.enabled = True
    agent.save(update_fields=["model", "enabled"])
    return agent


def _refused(*, kind: str, name: str, base_url: str, model: str, agent: str | None) -> list[FieldError]:
    errors = []
    if kind not in ProviderKind.values:
        errors.append(FieldError("kind", "choice_unknown", {"choices": ", ".join(ProviderKind.values)}))
    needed = {"name": name, "model": model}
    if agent is not None:
        needed["agent"] = agent
    if kind in KINDS_WITH_ADDRESS:
        needed["base_url"] = base_url
    errors += [FieldError(field, "required") for field, value in needed.items() if not value.strip()]
    most = {"name": 100, "model": 200, "agent": 100, "base_url": 500}
    for field, value in {"name": name, "model": model, "agent": agent or "", "base_url": base_url}.items():
        if len(value) > most[field]:
            errors.append(FieldError(field, "too_long", {"actual": len(value), "most": most[field]}))
    if base_url and not base_url.startswith(("http://", "https://")):
        errors.append(FieldError("base_url", "wrong_type", {"expected": "an http or https address"}))
    return errors
