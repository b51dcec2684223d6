"""What differs between the two databases, in one place."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connections, models, transaction

M = TypeVar("M", bound=models.Model)


class Lost(Exception):
    """Somebody else moved a row first: what the caller wanted to write is void."""


def is_postgresql(using: str = "default") -> bool:
    return connections[using].vendor == "postgresql"


def locked(queryset: "models.QuerySet[M]", *, skip_locked: bool = False) -> "models.QuerySet[M]":
    """Lock the rows of `queryset` where the database can; SQLite's IMMEDIATE transaction locks all of it already.

    The lock leaves keys alone, so that somebody who inserts a row that points here (a run of this owner) need not wait:
    with a full lock an edit and a settle would wait for each other.
    """
    if not is_postgresql(queryset.db):
        return queryset
    return queryset.select_for_update(skip_locked=skip_locked, of=("self",), no_key=True)


@contextmanager
def serialised(key: int, using: str = "default") -> Iterator[None]:
    """One transaction at a time per `key` across every process: an advisory lock, or SQLite's single writer."""
    with transaction.atomic(using=using):
        if is_postgresql(using):
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])
        yield


def executemany(sql: str, rows: Iterable[Sequence[Any]], using: str = "default") -> None:
    """Write a batch with one prepared statement: measured, other writers wait a third as long as with bulk_update."""
    with connections[using].cursor() as cursor:
        cursor.executemany(sql, list(rows))


def update_many(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]], *, keys: Sequence[str] = ("pk",),
    where_in: tuple[str, Sequence[str]] | None = None, using: str = "default",
) -> int:  # fmt: skip
    """Write `columns` of many rows with one prepared statement; return how many rows were written.

    Each of `rows` holds the values of `columns`, then of `keys`, which say which row it is and what must still be
    true of it (a fence, say). `where_in` names one more column and the values it may have. Values are converted as
    `save` would; models' names, never raw ones, reach the SQL.
    """
    if not rows:
        return 0
    connection, meta = connections[using], model._meta
    fields = [meta.pk if name == "pk" else meta.get_field(name) for name in (*columns, *keys)]
    quoted = [f'"{f.column}" = %s' for f in fields]  # type: ignore[union-attr]
    sql = (
        f'UPDATE "{meta.db_table}" SET {", ".join(quoted[: len(columns)])} WHERE {" AND ".join(quoted[len(columns) :])}'
    )
    extra: tuple[str, ...] = ()
    if where_in is not None:
        extra = tuple(where_in[1])
        sql += f' AND "{meta.get_field(where_in[0]).column}" IN ({", ".join(["%s"] * len(extra))})'  # type: ignore[union-attr]
    ready = [
        (*(f.get_db_prep_save(v, connection) for f, v in zip(fields, row, strict=True)), *extra)  # type: ignore[union-attr]
        for row in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(sql, ready)
        return cursor.rowcount


def sql_instant(value: Any, using: str = "default") -> Any:
    """Return an instant as raw SQL must get it: SQLite compares texts, in the form Django stores them."""
    return connections[using].ops.adapt_datetimefield_value(value)
