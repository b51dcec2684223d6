"""How often a cadence comes in a month, for what it will cost."""

from datetime import UTC, datetime
from time import perf_counter

import pytest

from schedules.domain.cadence import parse_cadence
from schedules.domain.pace import runs_a_month

NOW = datetime(2026, 6, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cadence", "count"),
    [
        ({"kind": "daily", "time": "09:00"}, 30),
        ({"kind": "weekdays", "time": "09:00"}, 22),
        ({"kind": "hourly", "minute": 0}, 720),
        ({"kind": "yearly", "month": 1, "day": 1, "time": "09:00"}, 0),
        ({"kind": "once", "at": "2026-06-05T09:00"}, 1),
        ({"kind": "cron", "expression": "*/5 * * * *"}, 8640),
    ],
)
def test_it_is_counted_and_what_comes_often_is_taken_to_go_on_alike(cadence, count):
    began = perf_counter()
    assert runs_a_month(parse_cadence(cadence, zone="UTC", now=NOW), "UTC", NOW) == pytest.approx(count, rel=0.01)
    assert perf_counter() - began < 1
