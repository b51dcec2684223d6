"""What an idle tick costs does not grow with the number of schedules (quality.md, idle cost)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

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
