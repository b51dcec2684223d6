"""Two worker commands with one host name on one PostgreSQL share the work, and one goes on when the other dies."""

from __future__ import annotations

import math
import socket
from collections import Counter
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlparse

import psutil
import pytest
import redis

from tests.fakes.provider import FakeProvider, fake_provider
from tests.support import databases
from tests.support.processes import Deployment, Process, deployment

pytestmark = pytest.mark.fault

EACH = 60  # in one second: more than a drain leases at once, so that no drain can take all of it
SECONDS = 20  # of work, of which only what is due until a while after the kill is waited for
AFTER = 2  # seconds of work that are due after the kill
SEED = f"""
import os
from datetime import timedelta
from bench import seed
from core import clock
owners, agent = seed.make_owners(20), seed.make_agent(int(os.environ["PROVIDER_PORT"]))
first = (clock.now() + timedelta(seconds=3)).replace(microsecond=0)
seed.make_spread(agent, owners, {EACH * SECONDS}, first, {SECONDS})
print(first.isoformat())
"""
RUNNING = (
    "SELECT r.prompt, t.leased_by FROM chats_turn t JOIN schedules_run r ON r.turn_id = t.id WHERE t.status = 'running'"
)
KEY = "django_q:quotidian:q"


@pytest.fixture(params=["orm", "redis"])
def broker(request):
    """What makes a deployment use this broker: hints in the database, or in Redis."""
    if request.param == "orm":
        yield {}
        return
    if not databases.reachable(databases.REDIS):
        pytest.skip("Redis does not answer (TEST_REDIS_URL)")
    # The tests of Redis itself run beside these and count the hints of their database: this is the one next to it.
    number = int(urlparse(databases.REDIS).path.strip("/") or 0)
    url = urlparse(databases.REDIS)._replace(path=f"/{number - 1 if number else 1}").geturl()
    with redis.Redis.from_url(url) as connection:
        connection.delete(KEY)
        yield {"REDIS_URL": url}
        connection.delete(KEY)


def held(server: Deployment, worker: Process) -> set[str]:
    """Return the prompts whose turns are leased now by processes that this worker command started."""
    own = {child.pid for child in worker.children()}
    return {prompt for prompt, by in server.query(RUNNING) if int(by.split("/")[1]) in own}


def frozen(server: Deployment, worker: Process) -> set[str]:
    """Stop a worker and all it started where they stand and return what they hold; when that is nothing they go on."""
    psutil.Process(worker.pid).suspend()
    for child in worker.children():
        child.suspend()
    prompts = held(server, worker)
    if not prompts:
        for process in [*worker.children(), psutil.Process(worker.pid)]:
            process.resume()
    return prompts


def killed_at_work(server: Deployment, worker: Process) -> set[str]:
    """Kill a worker and all it started with SIGKILL while they work; return the prompts that they held."""
    prompts = server.wait_until(lambda: frozen(server, worker), seconds=10, what="the first host holds leases")
    for process in [psutil.Process(worker.pid), *worker.children()]:
        process.kill()
    worker.wait()
    return prompts


def both_hold(server: Deployment, workers: list[Process]) -> None:
    """Wait until each worker was seen with leases."""
    seen = set[int]()

    def looked() -> bool:
        seen.update(worker.pid for worker in workers if held(server, worker))
        return len(seen) == len(workers)

    server.wait_until(looked, seconds=SECONDS, what="both hosts have leased turns")


def settled(server: Deployment, prompts: set[str]) -> dict[str, list[str]]:
    """Return prompt -> the status of each of its rows, once every prompt has one and all are settled."""

    def looked() -> dict[str, list[str]] | None:
        found: dict[str, list[str]] = {prompt: [] for prompt in prompts}
        for prompt, status in server.query("SELECT prompt, status FROM schedules_run WHERE settled_at IS NOT NULL"):
            if prompt in found:
                found[prompt].append(status)
        return found if all(found.values()) else None

    return server.wait_until(looked, seconds=40, what=f"{len(prompts)} prompts have settled")


def due_by(second: int) -> set[str]:
    """Return the prompts that are due until so many seconds after the first, as the seed spreads them."""
    return {f"bench prompt {n}" for n in range(EACH * SECONDS) if n % SECONDS <= second}


def calls(provider: FakeProvider, prompts: set[str]) -> dict[str, int]:
    made: Counter[Any] = Counter(request["prompt"] for request in provider.requests())
    return {prompt: made[prompt] for prompt in prompts}


def test_two_hosts_of_one_name_share_the_work_and_one_goes_on_when_the_other_is_killed(broker, tmp_path):
    """R1, R4, R31: each prompt is asked for once; only what the killed host held may be asked for once more."""
    with (
        fake_provider(chunks=1, first_delay=1.0) as provider,
        deployment(
            tmp_path / "data", "postgresql", MAX_CONCURRENT_TURNS="400", MAX_CONCURRENT_PER_OWNER="400", **broker
        ) as server,
    ):
        workers = [server.worker(ready=False), server.worker()]
        said = server.manage("shell", "--verbosity", "0", "-c", SEED, PROVIDER_PORT=str(provider.port))
        first = datetime.fromisoformat(said.strip())
        both_hold(server, workers)
        lost = killed_at_work(server, workers[0])
        prompts = due_by(math.ceil((datetime.now(UTC) - first).total_seconds()) + AFTER)
        ledger = settled(server, prompts)

        assert {name for (name,) in server.query("SELECT hostname FROM chats_workerhost")} == {socket.gethostname()}
        assert len(server.query("SELECT DISTINCT name FROM chats_workerhost")) == len(workers)
        assert {prompt: rows for prompt, rows in ledger.items() if rows != ["succeeded"] and prompt not in lost} == {}
        assert {tuple(ledger[prompt]) for prompt in lost} <= {("succeeded",), ("interrupted",)}
        made = calls(provider, prompts)
        assert {prompt: n for prompt, n in made.items() if n != 1 and prompt not in lost} == {}
        assert {made[prompt] for prompt in lost} <= {1, 2}
        assert {made[prompt] for prompt in lost if ledger[prompt] == ["interrupted"]} <= {1}
        twice = "SELECT turn_id FROM chats_message WHERE role = 'assistant' GROUP BY turn_id HAVING count(*) > 1"
        assert server.query(twice) == []
        if broker:
            assert server.query("SELECT count(*) FROM django_q_ormq") == [(0,)]
