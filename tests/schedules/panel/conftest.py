"""What page tests of schedules share: the instant of the page, a clock that ticks, armed schedules of Alice."""

from __future__ import annotations

from typing import Any

import pytest

from chats.models import WorkerHost
from core.clock import now as clock_now
from schedules.models import Schedule


@pytest.fixture
def moment(db: None) -> Any:
    """The instant of the page: pages ask the clock themselves, so rows are placed around now."""
    return clock_now()


@pytest.fixture
def ticking(db: None, moment: Any) -> WorkerHost:
    return WorkerHost.objects.create(name="host", hostname="host", started_at=moment, clock_at=moment)


@pytest.fixture
def make(alice: Any, make_schedule: Any, moment: Any) -> Any:
    def made(name: str, **fields: Any) -> Schedule:
        return make_schedule(owner=alice, name=name, now=moment, **{"armed": True, **fields})

    return made
