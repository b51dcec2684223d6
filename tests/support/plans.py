"""What the database means to do for the statements of an act."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.support.engine import postgresql


def plans_of(act: Callable[[], Any], table: str, *, few_rows: bool = True) -> list[str]:
    """Do `act` and return the plan of each statement about `table`, as it is with so many rows that a scan is dear.

    With `few_rows=False` the rows that are there must be many enough to make it so.
    """
    with CaptureQueriesContext(connection) as asked:
        act()
    written = [query["sql"] for query in asked if f'"{table}"' in query["sql"]]
    statements = [sql for sql in written if " times: " not in sql]  # a batch of writes goes by its keys
    with transaction.atomic(), connection.cursor() as cursor:
        if postgresql() and few_rows:
            cursor.execute("SET LOCAL enable_seqscan = off")
        plans = []
        for statement in statements:
            cursor.execute(("EXPLAIN " if postgresql() else "EXPLAIN QUERY PLAN ") + statement.replace("%", "%%"))
            plans.append("\n".join(str(row) for row in cursor.fetchall()))
        return plans
