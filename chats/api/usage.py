"""`/api/v1/usage`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response

from accounts.domain.spend import month_of
from accounts.models import UsageEntry
from accounts.selectors.spend import GROUPS
from chats.api.serializers import UsageShown
from chats.outputs import standing_out, usage_out, used_out
from chats.selectors.usage import standing_of, today_of, usage_named, usage_summed
from core.api import Api, ApiRequest, edge_now, problems
from core.errors import FieldError, Refusal
from core.paging import query_of

MOST_DAYS = timedelta(days=366)
FILTERS = [
    OpenApiParameter("by", str, enum=list(GROUPS), description="What it is added up by; `day` when not given."),
    OpenApiParameter("since", date, description="First day; the first of this month when not given."),
    OpenApiParameter("until", date, description="Last day; today when not given. At most 366 days."),
]


class Usage(Api):
    """What the one who asks has used and spent. Days and months are those of their zone."""

    required_scopes = {"retrieve": "runs:read"}
    queryset = UsageEntry.objects.none()
    serializer_class = UsageShown

    @extend_schema(operation_id="usage_retrieve", parameters=FILTERS, responses={200: UsageShown, **problems()})
    def retrieve(self, request: ApiRequest) -> Response:
        """Read usage by day, schedule, agent or model, and where I stand this month."""
        query = query_of(request, "by", "since", "until", paged=False)
        now, user = edge_now(), request.user
        by = query.get("by", "day")
        if by not in GROUPS:
            raise Refusal.at("by", "choice_unknown", choices=", ".join(GROUPS))
        since, until = _days(query, today_of(user, now=now))
        return Response(
            {
                "since": since.isoformat(),
                "until": until.isoformat(),
                "by": by,
                "this_month": standing_out(standing_of(user, now=now)),
                "total": used_out(usage_summed(user, since=since, until=until)),
                "results": [usage_out(row) for row in usage_named(user, since=since, until=until, by=by)],
            }
        )


def _days(query: Mapping[str, str], today: date) -> tuple[date, date]:
    until = _day(query, "until", today)
    since = _day(query, "since", month_of(min(until, today)))
    if not timedelta(0) <= until - since <= MOST_DAYS:
        raise Refusal.at("since", "out_of_range", least=(until - MOST_DAYS).isoformat(), most=until.isoformat())
    return since, until


def _day(query: Mapping[str, str], name: str, otherwise: date) -> date:
    if name not in query:
        return otherwise
    try:
        return date.fromisoformat(query[name])
    except ValueError as error:
        expected = {"expected": "a date such as 2026-12-24"}
        raise Refusal.of([FieldError(name, "wrong_type", expected)]) from error
