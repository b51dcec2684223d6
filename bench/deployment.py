"""A whole deployment for one bench: the shipped processes with the shipped settings, a fake provider, a fresh database.

Only what a bench names through `set_limits` differs from a fresh installation. Everything listens on loopback and is
ended by its process id.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
POSTGRES = os.environ.get("BENCH_POSTGRES", "postgres://postgres@127.0.0.1:5432")


@dataclass
class Deployment:
    """Where things are while a bench runs."""

    folder: Path
    database: str
    environment: dict[str, str]
    provider_port: int = 0
    control_port: int = 0
    children: list[subprocess.Popen] = field(default_factory=list)
    limits: dict[str, str] = field(default_factory=dict)

    def manage(self, *words: str) -> str:
        """Run a management command in the deployment and return what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=self.environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"manage.py {words[0]} failed:\n{done.stderr[-2000:]}")
        return done.stdout

    def set_limits(self, **values: int) -> None:
        """Raise limits by the shipped command, and remember which for the report."""
        self.limits |= {name: str(value) for name, value in values.items()}
        self.manage("set_limits", *(f"{name}={value}" for name, value in values.items()))

    def start(self, *words: str, log: str) -> subprocess.Popen:
        """Start a process of the deployment; it is ended with the deployment."""
        out = (self.folder / log).open("w")
        child = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=self.environment, stdout=out, stderr=subprocess.STDOUT
        )
        self.children.append(child)
        return child

    def start_worker(self) -> subprocess.Popen:
        """Start `manage.py worker` and wait until its clock ticks."""
        return self.start_workers(1)[0]

    def start_workers(self, number: int) -> list[subprocess.Popen]:
        """Start `number` worker commands, all of this machine's host name, and wait until each clock ticks."""
        from chats.models import WorkerHost

        logs = [f"worker-{n}.log" for n in range(number)]
        workers = [self.start("manage.py", "worker", log=log) for log in logs]
        deadline = time.monotonic() + 60 + 10 * number
        while WorkerHost.objects.filter(clock_at__isnull=False).count() < number:
            if any(worker.poll() is not None for worker in workers) or time.monotonic() > deadline:
                said = "\n".join((self.folder / log).read_text()[-2000:] for log in logs)
                raise SystemExit(f"not every worker started:\n{said}")
            time.sleep(0.1)
        return workers

    def requests(self, event: str = "start") -> list[dict[str, Any]]:
        """Return the provider's log of requests: `start` or `end` of each, `at` in epoch seconds."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.control_port}/log", timeout=60) as answer:
            return [entry for entry in json.load(answer) if entry["event"] == event]


@contextlib.contextmanager
def deployment(database: str, *, provider: tuple[str, ...] = (), redis: str = "") -> Iterator[Deployment]:
    """Make a deployment on `database` (sqlite or postgresql), point Django of this process at it, end it afterwards.

    Hints go through the database, or through Redis when its URL is given.
    """
    folder = Path(tempfile.mkdtemp(prefix="quotidian-bench-"))
    name = f"bench_{os.getpid()}"
    environment = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {
        "QUOTIDIAN_DATA_DIR": str(folder),
        "LOCAL_MODEL": "off",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    if database == "postgresql":
        _psql(f"CREATE DATABASE {name}")
        environment["DATABASE_URL"] = f"{POSTGRES}/{name}"
    if redis:
        environment["REDIS_URL"] = redis
    here = Deployment(folder, database, environment)
    try:
        os.environ.update(environment)
        import django

        django.setup()
        here.manage("migrate", "--verbosity", "0")
        _start_provider(here, provider)
        yield here
    finally:
        _end(here)
        if database == "postgresql":
            _psql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        shutil.rmtree(folder, ignore_errors=True)


def _start_provider(here: Deployment, words: tuple[str, ...]) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.provider", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    here.children.append(child)
    assert child.stdout is not None
    here.provider_port, here.control_port = int(child.stdout.readline()), int(child.stdout.readline())


def _end(here: Deployment) -> None:
    from django.db import connections

    connections.close_all()
    for child in reversed(here.children):
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    for child in reversed(here.children):
        try:
            child.wait(40)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _psql(statement: str) -> None:
    import psycopg

    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as connection:
        connection.execute(statement)
