"""The parts of the test run: what each runs, on which database, and what it needs. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlparse

from environment import PYTHON, ROOT, VENV

POSTGRESQL = os.environ.get("TEST_DATABASE_URL") or "postgres://postgres@127.0.0.1:5432/quotidian"
REDIS = os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/15"
REQUIRED = os.environ.get("REQUIRE_SERVICES") == "1"
APART = ["tests/static", "tests/architecture", "tests/redis", "tests/faults/programme", "tests/browser"]
"""Folders with a part of their own; everything else under tests/ runs once per database."""
PURE = [f"tests/{app}/domain" for app in ("accounts", "agents", "chats", "projects", "schedules")] + [
    "tests/agents/runtime"
]
"""Folders whose tests may not ask a database (pytest-django refuses it): they run once."""
PROCESSES = "tests/faults/test_*"
"""Tests that start processes, on either database; the stateful test beside them runs once per database."""

TWO_AT_ONCE = ["-n", "2", "--dist", "loadfile"]
THREE_AT_ONCE = ["-n", "3", "--dist", "worksteal"]
"""For tests that mostly wait for processes; each has a data folder, a database and ports of its own."""

Run = Callable[[IO[str] | None], "Counts"]
"""What a part does, printing to the file, or straight to the terminal without one."""


@dataclass
class Counts:
    """What a part did; lists hold test names."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    deselected: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Part:
    """One part. `needs` returns what is missing, or an empty text; a part that cannot run is skipped as a whole."""

    name: str
    run: Run
    needs: Callable[[], str] = lambda: ""


def commands(*lines: list[str]) -> Run:
    """Return a part that runs checkers; each is one check, passed when it exits with 0."""

    def run(out: IO[str] | None) -> Counts:
        counts = Counts()
        for line in lines:
            done = subprocess.run(
                [str(VENV / "bin" / line[0]), *line[1:]], cwd=ROOT, check=False, stdout=out, stderr=out
            )
            if done.returncode == 0:
                counts.passed += 1
            else:
                counts.failed.append(" ".join(line))
        return counts

    return run


def pytest(*arguments: str, **environ: str) -> Run:
    """Return a part that runs pytest; what it did is read from the plugin's file, not from what it printed."""

    def run(out: IO[str] | None) -> Counts:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "counts.json"
            environment = {**os.environ, "DATABASE_URL": "", "REDIS_URL": "", **environ, "TEST_COUNTS": str(file)}
            command = [str(PYTHON), "-m", "pytest", "-q", "-p", "tests.support.counts", *arguments]
            done = subprocess.run(command, cwd=ROOT, env=environment, check=False, stdout=out, stderr=out)
            return _read(file, done.returncode)

    return run


def _read(file: Path, code: int) -> Counts:
    try:
        read = json.loads(file.read_text())
    except (OSError, ValueError):
        return Counts(failed=[f"pytest ended with exit code {code} and counted nothing"])
    ran = [*read["passed"], *read["failed"], *read["skipped"]]
    counts = Counts(len(read["passed"]), read["failed"], read["skipped"], read["deselected"], ran)
    if code != 0 and not counts.failed:
        counts.failed.append(f"pytest ended with exit code {code}")
    return counts


def collected() -> list[str]:
    """Return every test there is, those for PostgreSQL only too, so that one that no part runs is noticed."""
    command = [str(PYTHON), "-m", "pytest", "tests", "-q", "--collect-only", "--color=no", "-p", "no:cacheprovider"]
    environ = {**os.environ, "DATABASE_URL": POSTGRESQL}
    done = subprocess.run(command, cwd=ROOT, env=environ, check=False, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "::" in line and line.startswith("tests/")]


def _reachable(url: str, port: int) -> bool:
    parsed = urlparse(url)
    with contextlib.suppress(OSError), socket.create_connection((parsed.hostname or "", parsed.port or port), 2):
        return True
    return False


def needs_postgresql() -> str:
    return "" if _reachable(POSTGRESQL, 5432) else "PostgreSQL does not answer (TEST_DATABASE_URL)"


def needs_redis() -> str:
    return "" if _reachable(REDIS, 6379) else "Redis does not answer (TEST_REDIS_URL)"


def needs_chromium() -> str:
    """Return what is missing for the browser part, after an attempt to install it where that is possible."""
    if chromium():
        return ""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return "chromium is not installed (as root on Debian or Ubuntu bin/test installs it)"
    for line in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "chromium"]):
        subprocess.run(line, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=sys.stderr)
    return "" if chromium() else "chromium could not be installed; the lines above say why"


def chromium() -> str | None:
    """Return the browser that the tests drive: `CHROMIUM`, else the first that is on the PATH."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def _whole(*, database: str, url: str) -> Run:
    ignored = [*(f"--ignore={folder}" for folder in [*APART, *PURE]), f"--ignore-glob={PROCESSES}"]
    return pytest("tests", *ignored, *TWO_AT_ONCE, EXPECT_DATABASE=database, DATABASE_URL=url)


def _faults() -> Run:
    chosen = ("tests/faults", "--ignore=tests/faults/ledger", *THREE_AT_ONCE)
    return pytest(*chosen, TEST_DATABASE_URL=POSTGRESQL, TEST_REDIS_URL=REDIS)


def parts() -> list[list[Part]]:
    """Return every part in the order in which they run."""
    return [
        [
            Part("types", commands(["mypy", "."])),
            Part("lint", commands(["ruff", "check", "."], ["ruff", "format", "--check", "."])),
            Part("imports", commands(["lint-imports", "--no-cache"])),
            Part("migrations", pytest("tests/static/test_migrations.py")),
            Part("secrets", pytest("tests/static/test_secrets.py")),
            Part("openapi", pytest("tests/static/test_openapi.py")),
            Part("architecture", pytest("tests/architecture", *_rest_of_static())),
        ],
        [Part("unit, no database", pytest(*PURE, *TWO_AT_ONCE))],
        [Part("unit, SQLite", _whole(database="sqlite", url=""))],
        [Part("unit, PostgreSQL", _whole(database="postgresql", url=POSTGRESQL), needs_postgresql)],
        [
            Part("browser", pytest("tests/browser"), needs_chromium),
            Part("faults", _faults()),
            Part("redis", pytest("tests/redis", REDIS_URL=REDIS), needs_redis),
        ],
    ]


def _rest_of_static() -> list[str]:
    named = ("migrations", "secrets", "openapi")
    return ["tests/static", *(f"--ignore=tests/static/test_{name}.py" for name in named)]
