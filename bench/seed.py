"""Rows for benches: an agent on the fake provider, owners, and many schedules written in bulk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from accounts.models import User
from agents.models import Agent, ChatModel, ModelProvider
from chats.models import Turn
from core.clock import now as clock_now
from schedules.models import Run, Schedule

CHUNK = 5_000


def make_agent(port: int, model: str = "ok") -> Agent:
    """Return a shared agent whose model is served by the fake provider on `port`."""
    now = clock_now()
    provider = ModelProvider.objects.create(
        kind="openai", name="Fake provider", base_url=f"http://127.0.0.1:{port}/v1", created_at=now
    )
    served = ChatModel.objects.create(provider=provider, name=model)
    return Agent.objects.create(name="Bench", model=served, created_at=now)


def make_owners(number: int) -> list[User]:
    """Return members who may use schedules."""
    from django.contrib.auth.models import Group

    now = clock_now()
    people = [User(email=f"owner{n}@example.com", password="!", date_joined=now) for n in range(number)]
    owners = User.objects.bulk_create(people)
    members = Group.objects.get(name="Members")
    User.groups.through.objects.bulk_create(
        [User.groups.through(user_id=owner.pk, group_id=members.pk) for owner in owners]
    )
    return owners


def make_due(agent: Agent, owners: list[User], number: int, due: datetime) -> None:
    """Add `number` once-schedules due at `due`, spread over the owners."""
    _insert(_once(agent, owners[n % len(owners)], due, f"bench prompt {n}") for n in range(number))


def make_spread(agent: Agent, owners: list[User], number: int, first: datetime, seconds: int) -> dict[str, datetime]:
    """Add `number` once-schedules, as many in each of `seconds` seconds from `first`; return when each prompt is due."""
    plan = {f"bench prompt {n}": first + timedelta(seconds=n % seconds) for n in range(number)}
    _insert(_once(agent, owners[n % len(owners)], due, prompt) for n, (prompt, due) in enumerate(plan.items()))
    return plan


def make_crowd(agent: Agent, owners: list[User], number: int, now: datetime) -> None:
    """Add `number` daily schedules that are not due for hours: the crowd a due one must be found in."""

    def rows() -> Iterator[Schedule]:
        for n in range(number):
            at = (now + timedelta(hours=3, minutes=n % 1200)).replace(second=0, microsecond=0)
            yield Schedule(
                owner=owners[n % len(owners)], agent=agent, name=f"Crowd {n}", prompt="Later.", zone="UTC",
                cadence={"kind": "daily", "time": f"{at:%H:%M}"}, planned_through=now, next_run_at=at,
                next_occurrence_at=at, min_gap_seconds=86_400, created_at=now, updated_at=now,
            )  # fmt: skip

    _insert(rows())


def make_history(number: int, now: datetime) -> None:
    """Add `number` settled runs, and as many turns, of days gone by, to the schedules there are, as many to each."""
    schedules = list(Schedule.objects.order_by("pk").values_list("pk", "owner_id", "agent_id")[:number])

    def rows() -> Iterator[Run | Turn]:
        for n in range(number):
            schedule, owner, agent = schedules[n % len(schedules)]
            at = now - timedelta(days=1 + n // len(schedules), seconds=n % 86_400)
            yield Turn(
                owner_id=owner, agent_id=agent, origin="schedule", status="completed", created_at=at, queued_at=at,
                not_before=at, settled_at=at,
            )  # fmt: skip
            yield Run(
                schedule_id=schedule, owner_id=owner, agent_id=agent, kind="scheduled", scheduled_for=at, due_at=at,
                opened_at=at, started_at=at, settled_at=at, status="succeeded", prompt="Then.", attempts=1,
                idempotency_key=f"bench:{schedule}:{at.isoformat()}",
            )  # fmt: skip

    _insert(rows())


def make_resting(agent: Agent, owners: list[User], number: int, now: datetime) -> None:
    """Add `number` each of blocked, paused and completed schedules."""
    states = ({"blocked_reason": "agent_deleted", "blocked_at": now}, {"enabled": False}, {"completed_at": now})
    _insert(
        Schedule(
            owner=owners[n % len(owners)], agent=agent, name=f"Resting {n}", prompt="Never.", zone="UTC",
            cadence={"kind": "daily", "time": "09:00"}, planned_through=now, created_at=now, updated_at=now, **state,
        )
        for state in states
        for n in range(number)
    )  # fmt: skip


def _once(agent: Agent, owner: User, due: datetime, prompt: str) -> Schedule:
    before = due - timedelta(seconds=60)
    return Schedule(
        owner=owner, agent=agent, name=prompt, prompt=prompt, zone="UTC",
        cadence={"kind": "once", "at": due.isoformat().replace("+00:00", "Z")}, planned_through=before,
        next_run_at=due, next_occurrence_at=due, created_at=before, updated_at=before,
    )  # fmt: skip


def _insert(rows: Iterator[Any]) -> None:
    while batch := list(islice(rows, CHUNK)):
        for model in {type(row) for row in batch}:
            model._default_manager.bulk_create([row for row in batch if type(row) is model])
