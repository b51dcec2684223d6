"""What every view of the API shares: one body, one service, one dictionary back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from core.clock import now as clock_now
from core.errors import Refusal
from core.paging import Cursor
from core.serializers import NothingInput, validated

MOST_KEY = 128

PROBLEM = inline_serializer(
    "Problem",
    {
        "type": serializers.CharField(),
        "title": serializers.CharField(),
        "status": serializers.IntegerField(),
        "code": serializers.CharField(help_text="A code of the catalogue (docs/errors.md)."),
        "detail": serializers.CharField(),
        "fields": serializers.DictField(
            child=serializers.ListField(
                child=inline_serializer(
                    "ProblemField", {"code": serializers.CharField(), "text": serializers.CharField()}
                )
            )
        ),
        "params": serializers.DictField(),
    },
)

_MEANINGS = {
    400: "The body, a field or a filter cannot be used.",
    401: "No valid token and no session.",
    403: "Signed in, but not allowed.",
    404: "Not there, or not yours.",
    409: "In conflict with what is there now.",
    410: "Deleted.",
    429: "Too often; `Retry-After` says when.",
    503: "Not now; `Retry-After` says when.",
}


def problems(*statuses: int) -> dict[Any, OpenApiResponse]:
    """Return the problem responses of an operation for its OpenAPI description; 400, 401, 403 and 429 always."""
    return {
        (status, "application/problem+json"): OpenApiResponse(PROBLEM, description=_MEANINGS[status])
        for status in sorted({400, 401, 403, 429, *statuses})
    }


KEYED = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="1 to 128 characters. A repeated request with the same key and body is answered as the first one was.",
)


class ApiRequest(Request):
    """A request of somebody who is known: views are asked only after HasScope let them in."""

    user: Any  # type: ignore[assignment]


class Api(viewsets.GenericViewSet[Any]):
    """A view set that reads strictly. `required_scopes` is closed until the view opens it (HasScope)."""

    pagination_class = Cursor
    required_scopes: dict[str, str | tuple[str, ...]] = {}
    ordering: tuple[str, ...] = ("-id",)
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    queryset: Any = None

    def pages(self, rows: Any, out: Callable[[list[Any]], Iterable[Any]]) -> Response:
        """Answer one page of `rows`; `out` turns the rows of the page into dictionaries."""
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(list(out(list(page or []))))


def nothing_sent(request: ApiRequest) -> None:
    """Refuse a body where an act takes none."""
    validated(NothingInput, request.data)


def idempotency_key(request: ApiRequest) -> str | None:
    """Return the `Idempotency-Key` header, None without one. Raises Refusal unless it has 1 to 128 characters."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not 1 <= len(key) <= MOST_KEY:
        raise Refusal.at("Idempotency-Key", "out_of_range", least=1, most=MOST_KEY)
    return key


def found(row: Any) -> Any:
    """Return `row`, or refuse: what is not there and what is not yours are the same 404 (P15)."""
    if row is None:
        raise Refusal("not_found")
    return row


def edge_now() -> Any:
    """Return the instant of this request: faces ask once and hand it on (R9)."""
    return clock_now()
