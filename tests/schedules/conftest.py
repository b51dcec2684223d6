"""What tests of schedules ask for besides the cast: an agent, a body that a create accepts, policies and limits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from accounts.models import LimitSet, User
from agents.models import Agent
from projects.models import ProjectPolicy
from schedules.models import Schedule
from schedules.services.editing import schedule_create
from tests.factories import NOW

Body = dict[str, Any]


@pytest.fixture
def agent(make_agent: Callable[..., Agent]) -> Agent:
    """An agent that everybody may use."""
    return make_agent(name="Writer")


@pytest.fixture
def body(agent: Agent) -> Body:
    """The least that a create needs."""
    return {
        "name": "Morning",
        "prompt": "Say good morning.",
        "agent": agent.public_id,
        "cadence": {"kind": "daily", "time": "09:00"},
    }


@pytest.fixture
def created(alice: User, body: Body, now: datetime) -> Callable[..., Schedule]:
    """Return Alice's schedule as a create makes it; arguments replace or add fields of the body."""

    def make(at: datetime = now, **fields: Any) -> Schedule:
        return schedule_create(owner=alice, body={**body, **fields}, now=at)[0]

    return make


@pytest.fixture
def limit(db: None) -> Callable[..., LimitSet]:
    """Set limits of one user: `limit(alice, max_schedules=1)`."""

    def set_limits(user: User, **values: Any) -> LimitSet:
        return LimitSet.objects.update_or_create(scope="user", user=user, defaults={"updated_at": NOW, **values})[0]

    return set_limits


@pytest.fixture
def policy(db: None) -> Callable[..., ProjectPolicy]:
    """Set the project policy of one user: `policy(alice, require_project=True)`."""

    def set_policy(user: User, **values: Any) -> ProjectPolicy:
        values = {"updated_at": NOW, **values}
        return ProjectPolicy.objects.update_or_create(scope="user", user=user, defaults=values)[0]

    return set_policy


def columns(schedule: Schedule) -> dict[str, Any]:
    """Return the stored row, column by column."""
    return Schedule.objects.filter(pk=schedule.pk).values().get()
