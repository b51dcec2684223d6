"""A worker process is killed with its leases: every occurrence ends, no answer twice, no text lost."""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import FakeProvider, fake_provider
from tests.support.processes import Deployment, deployment

pytestmark = pytest.mark.fault

OWNERS, EACH = 4, 5
ALL = OWNERS * EACH
SEED = """
import json, os
from accounts.services.tokens import token_create
from accounts.services.users import user_create
from agents.services.providers import provider_add
from core import clock
now = clock.now()
for name, model in (("Talks", "stream-200x50ms"), ("Waits", "slow-6+stream-80x50ms")):
    provider_add(kind="openai", name=name, base_url=os.environ["PROVIDER_URL"], model=model, agent=name, now=now)
people = [user_create(email=f"owner{n}@example.com", password="correct horse battery", now=now) for n in range(4)]
scopes = ["schedules:write", "schedules:read"]
print(json.dumps([token_create(user=u, name="t", scopes=scopes, now=now)[1] for u in people]))
"""
SETTLED = "SELECT count(*) FROM schedules_run WHERE settled_at IS NOT NULL"


def api(server: Deployment, method: str, path: str, token: str, body: dict[str, Any] | None = None) -> Any:
    """Call the REST API as an integrator does and return the answer; an error fails the test with its body."""
    request = urllib.request.Request(
        server.address + path,
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error


def seeded(server: Deployment, provider: FakeProvider, *, slow: int) -> datetime:
    """Give four owners five schedules each, due in one second; the model of the first `slow` says nothing for 6 s."""
    tokens = json.loads(server.manage("shell", "--verbosity", "0", "-c", SEED, PROVIDER_URL=provider.url))
    found = api(server, "GET", "/api/v1/agents", tokens[0])["results"]
    agents = {agent["name"]: agent["id"] for agent in found}
    due = (datetime.now(UTC) + timedelta(seconds=10)).replace(microsecond=0)
    for number, token in enumerate(tokens):
        for n in range(EACH):
            body = {
                "name": f"prompt {number}.{n}",
                "prompt": f"prompt {number}.{n}",
                "agent": agents["Waits" if n < slow else "Talks"],
                "cadence": {"kind": "once", "at": due.isoformat().replace("+00:00", "Z")},
            }
            api(server, "POST", "/api/v1/schedules", token, body)
    return due


def holders(server: Deployment) -> set[int]:
    """Return the process numbers that hold leases now."""
    rows = server.query("SELECT DISTINCT leased_by FROM chats_turn WHERE status = 'running'")
    return {int(row[0].split("/")[1]) for row in rows}


def kill(pids: set[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def ledger(server: Deployment) -> dict[str, tuple[str, str]]:
    """Return prompt -> (status, text of the answer)."""
    rows = server.query(
        "SELECT r.prompt, r.status, COALESCE(m.text, '') FROM schedules_run r"
        " LEFT JOIN chats_message m ON m.turn_id = r.turn_id AND m.role = 'assistant'"
    )
    assert len(rows) == ALL
    return {prompt: (status, text) for prompt, status, text in rows}


def calls(provider: FakeProvider) -> dict[str, list[dict[str, Any]]]:
    """Return prompt -> its calls in order, each with the number of pieces sent."""
    log = provider.log()
    ends = {entry["id"]: entry for entry in log if entry["event"] == "end"}
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in log:
        if entry["event"] == "start":
            found.setdefault(entry["prompt"], []).append(
                {**entry, "chunks": ends.get(entry["id"], {}).get("chunks", 0)}
            )
    return found


def no_conversation_answered_twice(server: Deployment) -> None:
    rows = server.query(
        "SELECT conversation_id, role, count(*) FROM chats_message GROUP BY conversation_id, role HAVING count(*) > 1"
    )
    assert rows == []


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_killed_while_streaming_keeps_written_text_and_repeats_only_what_had_none(database, tmp_path):
    """R3, R4, R26, R28; recovery table; B46."""
    with fake_provider() as provider, deployment(tmp_path / "data", database) as server:
        server.web()
        server.worker()
        due = seeded(server, provider, slow=1)
        running = "SELECT count(*) FROM schedules_run WHERE status = 'running'"
        server.wait_until(lambda: server.query(running)[0][0] == ALL, seconds=30, what="all twenty run")
        server.wait_until(
            lambda: (
                datetime.now(UTC) >= due + timedelta(seconds=3) and any(text for _, text in ledger(server).values())
            ),
            seconds=30,
            what="3 s in, and an answer has text",
        )
        kill(holders(server))
        written = {prompt: text for prompt, (_, text) in ledger(server).items()}
        server.wait_until(lambda: server.query(SETTLED)[0][0] == ALL, seconds=90, what="all twenty have ended")
        after = ledger(server)
        counts = Counter(status for status, _ in after.values())
        print(json.dumps({"database": database, "statuses": counts}))
        assert counts["interrupted"] >= 1
        for prompt, (status, text) in after.items():
            if written[prompt]:
                assert status == "interrupted" and text.startswith(written[prompt])
            else:
                assert status == "succeeded", prompt
        for prompt, made in calls(provider).items():
            assert len(made) == 1 or (len(made) == 2 and written[prompt] == ""), prompt
        no_conversation_answered_twice(server)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", ["leased", "started"])
def test_killed_before_the_first_call_every_occurrence_runs_once(database, point, tmp_path):
    """R25, R28: a lost worker that called nobody costs nothing; each prompt reaches the provider once."""
    pid_file = tmp_path / "standing"
    with fake_provider() as provider, deployment(tmp_path / "data", database) as server:
        server.web()
        seeded(server, provider, slow=0)
        server.start("worker", "-m", "tests.support.paused_worker", point, str(pid_file))
        server.wait_until(lambda: pid_file.exists() and pid_file.read_text(), seconds=60, what=f"a drain is {point}")
        kill({int(Path(pid_file).read_text())})
        server.wait_until(lambda: server.query(SETTLED)[0][0] == ALL, seconds=90, what="all twenty have ended")
        assert Counter(status for status, _ in ledger(server).values()) == {"succeeded": ALL}
        assert {prompt: len(made) for prompt, made in calls(provider).items()} == {
            f"prompt {o}.{n}": 1 for o in range(OWNERS) for n in range(EACH)
        }
        no_conversation_answered_twice(server)
