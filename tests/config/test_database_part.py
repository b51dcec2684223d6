"""A part of the test run is on the database it says it is on, and says which version that is."""

from __future__ import annotations

import os
from pathlib import Path

from django.db import connection

LEAST = {"sqlite": (3, 35), "postgresql": (13,)}


def test_the_database_is_the_one_this_part_is_for(db, record_property):
    expected = os.environ.get("EXPECT_DATABASE") or connection.vendor
    version = connection.get_database_version()
    record_property("database", f"{connection.display_name} {'.'.join(map(str, version))}")
    assert connection.vendor == expected
    assert version >= LEAST[connection.vendor]


def test_sqlite_tests_run_on_a_file_in_wal_mode(db):
    """Concurrency tests mean nothing on a database in memory."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA database_list")
            assert Path(cursor.fetchone()[2]).is_file()
            cursor.execute("PRAGMA journal_mode")
            assert cursor.fetchone()[0] == "wal"
