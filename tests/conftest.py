"""The cast and what every test may ask for. Alice owns, Bob is another user, Olivia operates."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from typing import Any

import hypothesis
import pytest
from django.contrib import admin

from tests import factories

admin.autodiscover()  # as the address table does, whichever test comes first

hypothesis.settings.register_profile("searching", deadline=None, print_blob=True)
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable" if os.environ.get("CI") else "searching")

_elsewhere = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked `postgres` exist on PostgreSQL only: elsewhere they are neither skipped nor deselected.

    `bin/test` checks that each of them ran in the part for PostgreSQL.
    """
    from django.conf import settings

    if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
        config.stash[_elsewhere] = [item.nodeid for item in items if item.get_closest_marker("postgres")]
        items[:] = [item for item in items if not item.get_closest_marker("postgres")]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what exists elsewhere only, and the database that a part ran on (also when workers ran it)."""
    for report in terminalreporter.getreports("passed"):
        for key, value in getattr(report, "user_properties", []):
            if key == "database":
                terminalreporter.write_line(f"database of this part: {value}")
    for name in config.stash.get(_elsewhere, []):
        terminalreporter.write_line(f"on PostgreSQL only: {name}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the data folder of this run, once, when the process that made it ends."""
    if not hasattr(config, "workerinput") and os.environ.get("QUOTIDIAN_TEST_ID") == str(os.getpid()):
        shutil.rmtree(os.environ["QUOTIDIAN_DATA_DIR"], ignore_errors=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Let a test of its own transactions be cleaned up on SQLite, where cleaning up means deleting row by row.

    The log's trigger against that is tried by a test that puts it back (tests/accounts/services/test_audit.py).
    """
    from django.db import connection

    if connection.vendor == "sqlite":
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER IF EXISTS audit_DELETE")


@pytest.fixture
def now() -> datetime:
    """Return the instant that tests mean by "now": Monday 2026-06-01 08:00 UTC."""
    return factories.NOW


@pytest.fixture
def password() -> str:
    """Return the password of everybody in the cast."""
    return factories.PASSWORD


@pytest.fixture
def alice(db: None) -> Any:
    """Alice, a member: owns what a test is about."""
    return factories.make_user("alice@example.com", display_name="Alice")


@pytest.fixture
def bob(db: None) -> Any:
    """Bob, another member: must not see, change or delay what is Alice's."""
    return factories.make_user("bob@example.com", display_name="Bob")


@pytest.fixture
def olivia(db: None) -> Any:
    """Olivia, an operator."""
    return factories.make_user("olivia@example.com", operator=True, display_name="Olivia")


def _factory(name: str) -> Callable[..., Any]:
    def fixture(db: None) -> Callable[..., Any]:
        return getattr(factories, name)

    fixture.__doc__ = f"Return `tests.factories.{name}`."
    return pytest.fixture(name=name)(fixture)


make_user = _factory("make_user")
make_provider = _factory("make_provider")
make_model = _factory("make_model")
make_agent = _factory("make_agent")
make_project = _factory("make_project")
make_conversation = _factory("make_conversation")
make_turn = _factory("make_turn")
make_schedule = _factory("make_schedule")
make_run = _factory("make_run")
