"""Redis as the broker of hints: it wakes workers, and losing what it held loses no run (R22, R31)."""

from __future__ import annotations

import pytest
import redis

from tests.support import databases
from tests.support.client import in_seconds, member
from tests.support.processes import deployment, wait_until

pytestmark = pytest.mark.redis

KEY = "django_q:quotidian:q"


@pytest.fixture
def broker():
    """The test Redis, without hints before and after."""
    if not databases.reachable(databases.REDIS):
        pytest.skip("Redis does not answer (TEST_REDIS_URL)")
    connection = redis.Redis.from_url(databases.REDIS)
    connection.delete(KEY)
    yield connection
    connection.delete(KEY)
    connection.close()


@pytest.fixture
def server(tmp_path, broker):
    with deployment(tmp_path / "data", REDIS_URL=databases.REDIS) as made:
        made.web()
        yield made


def test_a_due_run_goes_through_redis_and_no_hint_is_left_in_the_database(server, broker):
    server.worker()
    alice = member(server)
    schedule = alice.schedule()
    (run,) = alice.ended(schedule["id"])
    assert run["status"] == "succeeded"
    assert alice.answers(run["conversation"])
    assert server.query("SELECT count(*) FROM django_q_ormq") == [(0,)]


def test_a_run_whose_hint_was_flushed_away_is_found_again(server, broker):
    """R22: the hint is taken away before any worker lives, so only the clock can find the run."""
    alice = member(server)
    schedule = alice.schedule(cadence=in_seconds(3600))
    alice.post(f"/schedules/{schedule['id']}/run")
    wait_until(lambda: broker.llen(KEY), what="the hint is in Redis")
    broker.delete(KEY)
    server.worker()
    (run,) = alice.ended(schedule["id"])
    assert run["status"] == "succeeded"


def test_without_its_broker_the_server_still_takes_runs_and_works_them_when_it_is_back(tmp_path, broker):
    """The broker's address leads nowhere at first: what a person asks for is kept."""
    with deployment(tmp_path / "data") as server:
        server.web(REDIS_URL="redis://127.0.0.1:1/0")
        alice = member(server)
        schedule = alice.schedule(cadence=in_seconds(3600))
        run = alice.post(f"/schedules/{schedule['id']}/run")
        assert run["status"] == "queued"
        server.worker(REDIS_URL=databases.REDIS)
        assert [ended["status"] for ended in alice.ended(schedule["id"])] == ["succeeded"]
