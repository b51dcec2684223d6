"""Databases for tests that start real processes: migrated once per run, copied for each test."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import psycopg
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SERVER = os.environ.get("TEST_DATABASE_URL") or "postgres://postgres@127.0.0.1:5432/quotidian"
REDIS = os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/15"


def reachable(url: str) -> bool:
    """Return whether something listens at the host and port of `url`."""
    parsed = urlparse(url)
    with contextlib.suppress(OSError), socket.create_connection((parsed.hostname or "", parsed.port or 0), 2):
        return True
    return False


def server_url(name: str) -> str:
    """Return the URL of the database `name` on the test server."""
    return urlparse(SERVER)._replace(path=f"/{name}").geturl()


def admin(statement: str) -> None:
    """Run one statement on the test server outside any transaction."""
    with psycopg.connect(server_url("postgres"), autocommit=True) as connection:
        connection.execute(statement)


@cache
def prepared() -> Path:
    """Return a data folder with a migrated SQLite database and generated secrets."""
    folder = Path(tempfile.mkdtemp(prefix="quotidian-prepared-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _prepare(folder, "", "--no-static")
    with sqlite3.connect(folder / "quotidian.sqlite3") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


@cache
def collected() -> Path:
    """Return a folder of collected static files; collecting takes ten seconds, so only tests with pages ask."""
    _prepare(prepared(), "")
    return prepared() / "static"


@cache
def prepared_server() -> str:
    """Return the name of a migrated database on the test server that others are copied from."""
    name = f"quotidian_template_{os.getpid()}_{secrets.token_hex(4)}"
    admin(f'CREATE DATABASE "{name}"')
    atexit.register(admin, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    _prepare(prepared(), server_url(name), "--no-static")
    return name


def _prepare(folder: Path, url: str, *options: str) -> None:
    environ = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environ |= {"QUOTIDIAN_DATA_DIR": str(folder), "DATABASE_URL": url, "LOCAL_MODEL": "off"}
    command = [sys.executable, "manage.py", "prepare", *options]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@contextlib.contextmanager
def fresh(kind: str, folder: Path) -> Iterator[str]:
    """Yield the DATABASE_URL of a new migrated database; SQLite lies in `folder`, where an empty URL looks for it."""
    if kind == "sqlite":
        shutil.copy(prepared() / "quotidian.sqlite3", folder)
        yield ""
        return
    if not reachable(SERVER):
        pytest.skip("PostgreSQL does not answer (TEST_DATABASE_URL)")
    name = f"quotidian_{os.getpid()}_{secrets.token_hex(4)}"
    admin(f'CREATE DATABASE "{name}" TEMPLATE "{prepared_server()}"')
    try:
        yield server_url(name)
    finally:
        admin(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def query(url: str, folder: Path, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of one statement (placeholders `%s`), committed, on a connection of its own."""
    if url:
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(sql, parameters)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []
    with contextlib.closing(sqlite3.connect(folder / "quotidian.sqlite3", timeout=20)) as file, file:
        return file.execute(sql.replace("%s", "?"), parameters).fetchall()
