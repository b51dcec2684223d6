"""What an idle tick costs does not grow with the number of schedules (quality.md, idle cost)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chats.models import Turn
from chats.selectors.health import drains_needed
from chats.services.turns_claim import turns_waiting
from schedules.models import Schedule
from schedules.services.firing import due_left, fire_due
from tests.support.engine import DAY, NOW, due_schedule, postgresql
from tests.support.plans import plans_of

pytestmark = pytest.mark.django_db


def test_what_is_due_is_found_in_the_index_alone(alice: Any) -> None:
    """Nobody has run ANALYZE: the plan must not depend on it."""
    due_schedule(alice, at=NOW + DAY)
    (plan,) = plans_of(lambda: due_left(now=NOW), "schedules_schedule")
    assert "schedule_due" in plan
    assert ("Index Only Scan" if postgresql() else "COVERING INDEX") in plan


def test_among_thousands_of_which_nobody_has_made_statistics_the_index_is_taken(alice: Any) -> None:
    """A table that grew since the last ANALYZE is read along the index too, not until a row is found that matches."""
    first = due_schedule(alice, at=NOW + DAY)
    fields = {"owner": alice, "agent": first.agent, "zone": "UTC", "cadence": first.cadence, "planned_through": NOW}
    armed = {"next_run_at": NOW + DAY, "next_occurrence_at": NOW + DAY, "created_at": NOW, "updated_at": NOW}
    Schedule.objects.bulk_create([Schedule(name=f"Crowd {n}", **fields, **armed) for n in range(3_000)])
    Turn.objects.bulk_create([done(alice, first.agent) for _ in range(3_000)])
    (plan,) = plans_of(lambda: due_left(now=NOW), "schedules_schedule", few_rows=False)
    assert "schedule_due" in plan
    (plan,) = plans_of(lambda: turns_waiting(now=NOW), "chats_turn", few_rows=False)
    assert "turn_waiting" in plan
    (plan,) = plans_of(lambda: drains_needed(NOW, older_than=1.0), "chats_turn", few_rows=False)
    assert "turn_waiting" in plan


def done(owner: Any, agent: Any) -> Turn:
    instants = {"created_at": NOW - DAY, "queued_at": NOW - DAY, "not_before": NOW - DAY, "settled_at": NOW - DAY}
    return Turn(owner=owner, agent=agent, origin="schedule", status="completed", **instants)


def test_what_is_claimed_is_found_by_the_same_index(alice: Any) -> None:
    due_schedule(alice, at=NOW + DAY)
    due_schedule(alice, at=NOW)
    claims = [plan for plan in plans_of(lambda: fire_due(now=NOW), "schedules_schedule") if "schedule_due" in plan]
    assert len(claims) >= 2  # asked for, then claimed


def test_a_tick_with_nothing_due_asks_once_and_locks_nothing(alice: Any) -> None:
    due_schedule(alice, at=NOW + DAY)
    with CaptureQueriesContext(connection) as asked:
        assert fire_due(now=NOW).looked == 0
    assert len(asked) == 1
