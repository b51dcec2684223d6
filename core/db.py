"""What differs between the two databases, in one place."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connections, models, transaction

M = TypeVar("M", bound=models.Model)
_TRACES_MS = 500  # how long a checkpoint waits for readers: whoever asks has more to do


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


def shared(model: type[models.Model], keys: Collection[int]) -> None:
    """Keep rows from changing beside others who ask for no more; whoever locks them waits for all of these.

    What many workers look at for each batch is no queue then. In the order of keys, as `locked` rows are.
    """
    rows = model._base_manager.filter(pk__in=keys).order_by("pk")
    if not keys or not is_postgresql(rows.db):
        return
    sql, params = rows.values_list("pk").query.sql_with_params()
    with connections[rows.db].cursor() as cursor:
        cursor.execute(f"{sql} FOR SHARE", params)


def any_by(queryset: "models.QuerySet[M]", *order: str) -> bool:
    """Return whether `queryset` has a row, found along the index of `order`.

    `exists()` drops the order, and then PostgreSQL without fresh statistics takes its guess that many rows match for
    true and reads the table until one does: the whole of it when none does.
    """
    return bool(queryset.order_by(*order).values_list(order[0])[:1])


@contextmanager
def serialised(key: int, using: str = "default") -> Iterator[None]:
    """One transaction at a time per `key` across every process: an advisory lock, or SQLite's single writer."""
    with transaction.atomic(using=using):
        if is_postgresql(using):
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])
        yield


def update_many(
    model: type[models.Model], columns: Sequence[str], rows: Sequence[Sequence[Any]], *, keys: Sequence[str] = ("pk",),
    where_in: tuple[str, Sequence[str]] | None = None, using: str = "default",
) -> int:  # fmt: skip
    """Write `columns` of many rows in one go; return how many rows were written.

    Each of `rows` holds the values of `columns`, then of `keys`, which say which row it is and what must still be
    true of it (a fence, say). `where_in` names one more column and the values it may have. Values are converted as
    `save` would; models' names, never raw ones, reach the SQL.
    """
    if not rows:
        return 0
    connection, meta = connections[using], model._meta
    fields: list[Any] = [meta.pk if name == "pk" else meta.get_field(name) for name in (*columns, *keys)]
    ready = [[f.get_db_prep_save(v, connection) for f, v in zip(fields, row, strict=True)] for row in rows]
    among, extra = "", list[Any]()
    if where_in is not None:
        extra = list(where_in[1])
        column: Any = meta.get_field(where_in[0])
        among = f' AND "{meta.db_table}"."{column.column}" IN ({", ".join(["%s"] * len(extra))})'
    with connection.cursor() as cursor:
        if is_postgresql(using):
            # Without lengths: a cast to varchar(16) would cut a longer text in silence, where the column refuses it.
            types = [f.cast_db_type(connection).partition("(")[0] for f in fields]
            sql = _from_values(meta.db_table, fields, len(columns), types, ready)
            cursor.execute(sql + among, [value for row in ready for value in row] + extra)
        else:
            cursor.executemany(_one_by_one(meta.db_table, fields, len(columns)) + among, [row + extra for row in ready])
        return cursor.rowcount


def _from_values(table: str, fields: list[Any], written: int, types: list[str], rows: list[list[Any]]) -> str:
    """PostgreSQL: one statement, so that a batch costs one round trip; the first row tells the types."""
    names = [f"v{number}" for number in range(len(fields))]
    first = ", ".join(f"CAST(%s AS {kind})" for kind in types)
    others = ", (" + ", ".join(["%s"] * len(fields)) + ")"
    moves = ", ".join(f'"{f.column}" = v.{n}' for f, n in zip(fields[:written], names, strict=False))
    same = " AND ".join(
        f'"{table}"."{f.column}" = v.{n}' for f, n in zip(fields[written:], names[written:], strict=True)
    )
    values = f"(VALUES ({first}){others * (len(rows) - 1)}) AS v ({', '.join(names)})"
    return f'UPDATE "{table}" SET {moves} FROM {values} WHERE {same}'


def _one_by_one(table: str, fields: list[Any], written: int) -> str:
    """SQLite: one prepared statement; measured, other writers wait a third as long as with bulk_update."""
    quoted = [f'"{f.column}" = %s' for f in fields]
    return f'UPDATE "{table}" SET {", ".join(quoted[:written])} WHERE {" AND ".join(quoted[written:])}'


def sql_instant(value: Any, using: str = "default") -> Any:
    """Return an instant as raw SQL must get it: SQLite compares texts, in the form Django stores them."""
    return connections[using].ops.adapt_datetimefield_value(value)


def forget_traces(using: str = "default") -> bool:
    """Have what was erased gone from SQLite's write-ahead log as well; freed pages are overwritten (`secure_delete`).

    Return False while somebody reads an older state, and inside a transaction: try again. PostgreSQL's files are its
    own to clear.
    """
    connection = connections[using]
    if is_postgresql(using) or connection.in_atomic_block:
        return is_postgresql(using)
    patience = int(connection.settings_dict["OPTIONS"].get("timeout", 5) * 1000)
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout={_TRACES_MS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy = cursor.fetchone()
        finally:
            cursor.execute(f"PRAGMA busy_timeout={patience}")
    return not (busy and busy[0])
