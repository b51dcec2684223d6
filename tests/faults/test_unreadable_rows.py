"""Rows written past every check, on the shipped worker: what is healthy is asked for beside them all the same.

How soon is for `python -m bench.unreadable` to say, alone on its machine.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from bench.unreadable import HEALTHY, REASONS
from tests.fakes.provider import FakeProvider, fake_provider
from tests.support.processes import Deployment, deployment

pytestmark = pytest.mark.fault

TOGETHER = 4.0  # seconds from the first request to the last: far less than one broken row would cost by its lease
SEED = """
import os
from datetime import datetime
from bench.seed import make_agent
from bench.unreadable import seed
seed(make_agent(int(os.environ["PROVIDER_PORT"])), datetime.fromisoformat(os.environ["DUE"]))
"""
TICKS = """
import json
from django.db import connection
from django.test.utils import CaptureQueriesContext
from bench.unreadable import idle_ticks
with CaptureQueriesContext(connection) as seen:
    idle_ticks(20)
print(json.dumps([query["sql"] for query in seen]))
"""


def seeded(server: Deployment, provider: FakeProvider) -> datetime:
    """Write a hundred healthy schedules and four broken ones that are due in one second; return which."""
    due = (datetime.now(UTC) + timedelta(seconds=20)).replace(microsecond=0)
    server.manage("shell", "--verbosity", "0", "-c", SEED, DUE=due.isoformat(), PROVIDER_PORT=str(provider.port))
    assert server.query("SELECT count(*) FROM agents_agent WHERE name = 'Gone'") == [(0,)]
    assert datetime.now(UTC) < due, "the machine is too slow to write the rows before they are due"
    return due


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_each_broken_row_is_refused_beside_a_hundred_that_run_and_the_clock_is_idle_again(database, tmp_path):
    """R5, R21; gate rows 7 and 8."""
    with fake_provider() as provider, deployment(tmp_path / "data", database) as server:
        worker = server.worker()
        seeded(server, provider)
        settled = "SELECT count(*) FROM schedules_run WHERE settled_at IS NOT NULL"
        server.wait_until(
            lambda: server.query(settled)[0][0] == HEALTHY + len(REASONS), seconds=60, what="every run has settled"
        )
        asked = sorted(entry["at"] for entry in provider.requests())
        refused = server.query("SELECT name, reason FROM schedules_run WHERE status = 'refused'")
        blocked = server.query(
            "SELECT name, blocked_reason FROM schedules_schedule WHERE blocked_reason <> '' AND next_run_at IS NULL"
        )
        told = server.query(
            "SELECT count(*), count(DISTINCT subject) FROM accounts_notice WHERE code = 'schedule_blocked'"
        )
        worker.stop()
        assert dict(refused) == REASONS and len(refused) == len(REASONS)
        assert dict(blocked) == REASONS
        assert told == [(len(REASONS), len(REASONS))]
        assert len(asked) == len({entry["prompt"] for entry in provider.requests()}) == HEALTHY
        assert asked[-1] - asked[0] <= TOGETHER
        said = json.loads(server.manage("shell", "--verbosity", "0", "-c", TICKS).splitlines()[-1])
        assert not [sql for sql in said if "schedules_schedule" in sql and not sql.startswith("SELECT")]
