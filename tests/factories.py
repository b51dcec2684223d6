"""Rows for tests, each with what it needs to exist. Every factory takes the model's fields by name.

They write rows, so that a test can have any state; what a service would decide (arming, gates) is asked for by name.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

from accounts.models import User
from accounts.services.users import user_create
from agents.models import Agent, ChatModel, ModelProvider
from chats.models import Conversation, Turn
from projects.models import ChatProject
from schedules.domain.states import TERMINAL
from schedules.models import Run, Schedule

NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
"""A Monday, 08:00 UTC: the instant that tests mean by "now" unless they say another."""

PASSWORD = "correct horse battery"
_numbers = itertools.count(1)


def make_user(email: str = "", *, operator: bool = False, member: bool = True, **fields: Any) -> User:
    """Return a person who can sign in with `PASSWORD`, made by the service; `member=False` takes the group away."""
    user = user_create(
        email=email or f"person{next(_numbers)}@example.com",
        password=PASSWORD,
        operator=operator,
        now=NOW,
        **{name: fields.pop(name) for name in ("display_name", "zone") if name in fields},
    )
    if not member:
        user.groups.clear()
    if fields:
        User.objects.filter(pk=user.pk).update(**fields)
        user.refresh_from_db()
    return user


def make_provider(**fields: Any) -> ModelProvider:
    """Return an OpenAI-compatible provider; give `base_url` when a model is to be called."""
    fields = {
        "kind": "openai",
        "name": f"Provider {next(_numbers)}",
        "base_url": "http://127.0.0.1:9/v1",
        "created_at": NOW,
        **fields,
    }
    return ModelProvider.objects.create(**fields)


def make_model(*, provider: ModelProvider | None = None, **fields: Any) -> ChatModel:
    """Return a model, of a new provider unless one is given."""
    return ChatModel.objects.create(provider=provider or make_provider(), **{"name": "test-model", **fields})


def make_agent(*, owner: User | None = None, model: ChatModel | None = None, **fields: Any) -> Agent:
    """Return an agent; without an owner all may use it."""
    fields = {"name": f"Agent {next(_numbers)}", "created_at": NOW, **fields}
    return Agent.objects.create(owner=owner, model=model or make_model(), **fields)


def make_project(*, owner: User, now: datetime = NOW, **fields: Any) -> ChatProject:
    """Return a project of `owner`."""
    name = fields.pop("name", f"Project {next(_numbers)}")
    fields = {"name_key": name.strip().casefold(), "created_at": now, "updated_at": now, **fields}
    return ChatProject.objects.create(owner=owner, name=name, **fields)


def make_conversation(*, owner: User, now: datetime = NOW, **fields: Any) -> Conversation:
    """Return a conversation of `owner`, unfiled unless `project` is given."""
    fields = {"title": f"Conversation {next(_numbers)}", "created_at": now, "updated_at": now, **fields}
    return Conversation.objects.create(owner=owner, **fields)


def make_turn(*, owner: User, agent: Agent | None = None, now: datetime = NOW, **fields: Any) -> Turn:
    """Return a queued turn; for a running one give `status`, `fence`, `leased_by`, `lease_expires_at`."""
    fields = {"origin": "person", "created_at": now, "queued_at": now, "not_before": now, **fields}
    return Turn.objects.create(owner=owner, agent=agent or make_agent(), **fields)


def make_schedule(*, owner: User, agent: Agent | None = None, now: datetime = NOW, **fields: Any) -> Schedule:
    """Return a schedule, daily at 09:00 UTC, as the row says and not armed.

    `armed=True` has it armed as the services do it; or give `next_run_at` and `next_occurrence_at`.
    """
    armed = fields.pop("armed", False)
    fields = {
        "name": f"Schedule {next(_numbers)}",
        "prompt": "Say good morning.",
        "cadence": {"kind": "daily", "time": "09:00"},
        "zone": "UTC",
        "created_at": now,
        "updated_at": now,
        "planned_through": now,
        **fields,
    }
    schedule = Schedule.objects.create(owner=owner, agent=agent or make_agent(), **fields)
    if armed:
        from django.db import transaction

        from schedules.services.arming import schedule_arm

        with transaction.atomic():
            schedule_arm(schedule, now=now)
    return schedule


def make_run(*, schedule: Schedule | None = None, now: datetime = NOW, **fields: Any) -> Run:
    """Return a ledger row; `status` defaults to `succeeded`. Without a schedule give `owner` and `agent`."""
    if schedule is not None:
        fields = {
            "owner": schedule.owner,
            "agent": schedule.agent,
            "name": schedule.name,
            "prompt": schedule.prompt,
            "revision": schedule.revision,
            "project": schedule.project,
            **fields,
        }
    scheduled_for = fields.pop("scheduled_for", now)
    fields = {
        "kind": "scheduled" if schedule else "trial",
        "status": "succeeded",
        "scheduled_for": scheduled_for,
        "due_at": scheduled_for,
        "opened_at": scheduled_for,
        "prompt": "Say good morning.",
        "idempotency_key": f"test:{next(_numbers)}",
        **fields,
    }
    if fields["status"] in TERMINAL:
        fields = {"settled_at": scheduled_for, **fields}
    return Run.objects.create(schedule=schedule, **fields)
