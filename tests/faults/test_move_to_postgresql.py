"""The way from SQLite to PostgreSQL that docs/operations.md describes keeps what there was and goes on from it."""

from __future__ import annotations

import re

import pytest

from tests.support import databases
from tests.support.client import member
from tests.support.processes import ROOT, deployment

pytestmark = pytest.mark.fault


def documented_commands() -> list[list[str]]:
    """Return the arguments of each `manage.py` command of that section."""
    section = (ROOT / "docs/operations.md").read_text().split("## From SQLite to PostgreSQL")[1].split("\n## ")[0]
    joined = section.replace("\\\n", " ")
    return [line.split() for line in re.findall(r"manage\.py (.+)", joined)]


def test_everything_is_there_afterwards_and_new_schedules_run(tmp_path):
    dump, migrate, load = documented_commands()
    with deployment(tmp_path / "data") as server, databases.fresh("postgresql", tmp_path / "data") as url:
        server.web()
        server.worker()
        alice = member(server)
        before = alice.ended(alice.schedule()["id"])
        for process in server.processes:
            assert process.stop() == 0
        file = str(tmp_path / "everything.json")
        server.manage(*[file if part == "everything.json" else part for part in dump])
        server.database_url = url
        server.manage(*migrate)
        server.manage(*[file if part == "everything.json" else part for part in load])
        server.web()
        server.worker()
        kept = ("id", "status", "scheduled_for", "conversation", "prompt", "output_tokens")
        assert [[run[name] for name in kept] for run in alice.runs(before[0]["schedule"])] == [
            [run[name] for name in kept] for run in before
        ]
        assert alice.answers(before[0]["conversation"])
        (run,) = alice.ended(alice.schedule()["id"])
        assert run["status"] == "succeeded"
