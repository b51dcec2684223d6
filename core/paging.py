"""Lists of the API: keyset pages (`results`, `next`, `previous`) and filters that refuse what they do not know."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import F, Model, Q
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from core.errors import FieldError, Refusal

PAGE = 50
MOST = 200
PAGE_PARAMETERS = ("cursor", "limit")
_MOST_INTEGER = 2**63 - 1


def query_of(request: Request, *filters: str, paged: bool = True) -> dict[str, str]:
    """Return the filters that `request` names. Raises Refusal `filter_unknown`, also for one that is given twice."""
    known = {*filters, *(PAGE_PARAMETERS if paged else ())}
    errors = [
        FieldError(name, "filter_unknown", {"name": name})
        for name, values in request.query_params.lists()
        if name not in known or len(values) > 1
    ]
    errors += [
        FieldError(name, "wrong_type", {"expected": "text without NUL characters"})
        for name in filters
        if "\x00" in request.query_params.get(name, "")
    ]
    if errors:
        raise Refusal.of(errors)
    return {name: request.query_params[name] for name in filters if name in request.query_params}


def flag_of(query: Mapping[str, str], name: str) -> bool | None:
    """Return the filter `name` as true or false, None when it is absent. Raises Refusal for any other word."""
    if name not in query:
        return None
    words = {"true": True, "1": True, "false": False, "0": False}
    if query[name].lower() not in words:
        raise Refusal.at(name, "choice_unknown", choices="true, false")
    return words[query[name].lower()]


@dataclass(frozen=True)
class Key:
    """One column of an ordering. Nulls stand last, whatever the direction; `nullable` says whether there can be any."""

    column: str
    descending: bool = False
    nullable: bool = True

    @classmethod
    def parse(cls, text: str, model: type[Model]) -> Key:
        column = text.lstrip("-")
        try:
            nullable = bool(model._meta.get_field(column).null)
        except FieldDoesNotExist:  # an annotation
            nullable = True
        return cls(column, text.startswith("-"), nullable)

    def order(self, *, backwards: bool) -> Any:
        if not self.nullable:  # without a word about nulls PostgreSQL can read the order from the index
            return F(self.column).desc() if self.descending != backwards else F(self.column).asc()
        if self.descending != backwards:
            return F(self.column).desc(nulls_first=True) if backwards else F(self.column).desc(nulls_last=True)
        return F(self.column).asc(nulls_first=True) if backwards else F(self.column).asc(nulls_last=True)

    def equal(self, value: Any) -> Q:
        return Q(**{f"{self.column}__isnull": True}) if value is None else Q(**{self.column: value})

    def beyond(self, value: Any, *, backwards: bool) -> Q | None:
        """Return what lies beyond `value` in the direction of reading, or None when nothing can."""
        if value is None:
            return Q(**{f"{self.column}__isnull": False}) if backwards else None
        comparison = "gt" if self.descending == backwards else "lt"
        found = Q(**{f"{self.column}__{comparison}": value})
        return found if backwards or not self.nullable else found | Q(**{f"{self.column}__isnull": True})


def beyond(keys: Sequence[Key], values: Sequence[Any], *, backwards: bool) -> Q:
    """Return the condition for all rows beyond the one with `values`, in the order of `keys`."""
    condition = Q(pk__in=[])
    for position, key in enumerate(keys):
        further = key.beyond(values[position], backwards=backwards)
        if further is None:
            continue
        for before, value in zip(keys[:position], values[:position], strict=True):
            further &= before.equal(value)
        condition |= further
    return condition


def encode(values: Iterable[Any], *, backwards: bool) -> str:
    """Return an opaque cursor: the direction and the position of one row."""
    plain = [{"at": value.isoformat()} if isinstance(value, datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps([backwards, plain]).encode()).decode().rstrip("=")


def decode(cursor: str, columns: int) -> tuple[bool, list[Any]]:
    """Return direction and position of a cursor. Raises Refusal at `cursor` for one that no list gave out."""
    try:
        backwards, plain = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        values = [_value(part) for part in plain]
        if not isinstance(backwards, bool) or len(values) != columns:
            raise ValueError("not a cursor of this list")
    except (ValueError, TypeError, KeyError, binascii.Error, RecursionError) as error:
        raise Refusal.at("cursor", "wrong_type", expected="a cursor from `next` or `previous`") from error
    return backwards, values


def _value(part: Any) -> Any:
    if isinstance(part, dict):
        at = datetime.fromisoformat(part["at"])
        if at.tzinfo is None:
            raise ValueError("an instant without offset")
        return at
    if isinstance(part, int) and abs(part) > _MOST_INTEGER:
        raise ValueError("beyond any row")
    if part is not None and not isinstance(part, int | str):
        raise ValueError("not a position")
    if isinstance(part, str) and "\x00" in part:
        raise ValueError("not a position")
    return part


class Cursor(BasePagination):
    """Pages of 50 by keyset: steady while rows come and go, as fast on the last page as on the first.

    The view names its order in `ordering` (columns of the rows or annotations, `-` for descending, the last one
    unique); nulls stand last. `?limit=` asks for 1 to 200.
    """

    ordering: Sequence[str] = ("-id",)

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.request = request
        self.keys = [Key.parse(text, queryset.model) for text in getattr(view, "ordering", self.ordering)]
        limit = limit_of(request)
        cursor = request.query_params.get("cursor")
        backwards, values = decode(cursor, len(self.keys)) if cursor else (False, [])
        rows = queryset.order_by(*(key.order(backwards=backwards) for key in self.keys))
        if values:
            try:
                rows = rows.filter(beyond(self.keys, values, backwards=backwards))
            except (ValueError, TypeError, ValidationError) as error:
                raise Refusal.at("cursor", "wrong_type", expected="a cursor from `next` or `previous`") from error
        page = list(rows[: limit + 1])
        more = len(page) > limit
        page = page[:limit]
        if backwards:
            page.reverse()
        self.next = self._link(page[-1:], backwards=False) if more or (backwards and page) else None
        self.previous = self._link(page[:1], backwards=True) if (more if backwards else bool(values) and page) else None
        return page

    def _link(self, rows: list[Any], *, backwards: bool) -> str | None:
        if not rows:
            return None
        values = [_attribute(rows[0], key.column) for key in self.keys]
        here = self.request.build_absolute_uri()
        return replace_query_param(here, "cursor", encode(values, backwards=backwards))

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self.next, "previous": self.previous})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["results", "next", "previous"],
            "properties": {"results": schema, "next": link, "previous": link},
        }

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "maximum": MOST, "default": PAGE}
        return [
            {"name": "cursor", "in": "query", "required": False, "schema": {"type": "string"},
             "description": "Opaque; taken from `next` or `previous`."},
            {"name": "limit", "in": "query", "required": False, "schema": limit, "description": "Rows a page."},
        ]  # fmt: skip


def limit_of(request: Request) -> int:
    """Return how many rows a page shall have. Raises Refusal at `limit` for anything but 1 to 200."""
    given = request.query_params.get("limit")
    if given is None:
        return PAGE
    if not (given.isascii() and given.isdigit() and len(given) < 6 and 1 <= int(given) <= MOST):
        raise Refusal.at("limit", "out_of_range", least=1, most=MOST)
    return int(given)


def _attribute(row: Any, column: str) -> Any:
    if isinstance(row, Mapping):
        return row[column]
    for part in column.split("__"):
        row = getattr(row, part, None)
    return row
