"""`/api/v1/runs` and the ledger of one schedule: list, read, stop, attempts."""

from __future__ import annotations

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from chats.models import TurnAttempt
from core.api import Api, ApiRequest, edge_now, found, nothing_sent, problems
from core.paging import query_of
from core.serializers import instant_filter
from schedules.api import schema
from schedules.api.requests import choice_filter
from schedules.domain.states import RunStatus
from schedules.models import Run
from schedules.outputs import attempt_out, run_out
from schedules.selectors.lists import run_find, runs_of, schedule_find
from schedules.services.runs import run_stop

READ, WRITE = "runs:read", "runs:write"
STATUSES = tuple(status.value for status in RunStatus)
FILTERS = {
    "status": f"One or several, separated by commas, of {', '.join(STATUSES)}.",
    "since": "Instant: planned for then or later.",
    "until": "Instant: planned for then or earlier.",
}


class Runs(Api):
    """The ledger of the one who asks, newest planned instant first."""

    required_scopes = {"list": READ, "of_schedule": READ, "retrieve": READ, "stop": WRITE}
    ordering = ("-scheduled_for", "-id")
    queryset = Run.objects.none()
    serializer_class = schema.RunShown

    @extend_schema(
        parameters=schema.filters(schedule="Id of a schedule.", **FILTERS),
        responses={200: schema.RunShown(many=True), **problems()},
    )
    def list(self, request: ApiRequest) -> Response:
        """List runs of all schedules under the filters given."""
        query = query_of(request, "status", "schedule", "since", "until")
        runs = runs_of(request.user)
        if "schedule" in query:
            runs = runs.filter(schedule__public_id=query["schedule"])
        return self._page(runs, query)

    @extend_schema(
        operation_id="schedules_runs_list",
        parameters=schema.filters(**FILTERS),
        responses={200: schema.RunShown(many=True), **problems(404)},
    )
    def of_schedule(self, request: ApiRequest, id: str) -> Response:
        """List the runs of one schedule."""
        query = query_of(request, "status", "since", "until")
        schedule = found(schedule_find(request.user, id))
        return self._page(runs_of(request.user).filter(schedule=schedule), query)

    @extend_schema(responses={200: schema.RunShown, **problems(404)})
    def retrieve(self, request: ApiRequest, id: str) -> Response:
        """Read one run."""
        return Response(run_out(found(run_find(request.user, id))))

    @extend_schema(operation_id="runs_stop", request=None, responses={202: schema.RunShown, **problems(404)})
    def stop(self, request: ApiRequest, id: str) -> Response:
        """Stop a run: at once while it waits, within a second while it streams. A second stop changes nothing."""
        nothing_sent(request)
        run_stop(run=found(run_find(request.user, id)), actor=request.user, now=edge_now())
        return Response(run_out(found(run_find(request.user, id))), status=202)

    def _page(self, runs: QuerySet[Run], query: dict[str, str]) -> Response:
        if statuses := choice_filter(query, "status", STATUSES):
            runs = runs.filter(status__in=statuses)
        if since := instant_filter(query, "since"):
            runs = runs.filter(scheduled_for__gte=since)
        if until := instant_filter(query, "until"):
            runs = runs.filter(scheduled_for__lte=until)
        return self.pages(runs, lambda page: [run_out(run) for run in page])


class Attempts(Api):
    """The tries of one run at its model, first to last."""

    required_scopes = {"list": READ}
    ordering = ("number", "id")
    queryset = TurnAttempt.objects.none()
    serializer_class = schema.AttemptShown

    @extend_schema(operation_id="runs_attempts_list", responses={200: schema.AttemptShown(many=True), **problems(404)})
    def list(self, request: ApiRequest, id: str) -> Response:
        """List attempts."""
        query_of(request)
        run = found(run_find(request.user, id))
        attempts = TurnAttempt.objects.filter(turn__isnull=False, turn=run.turn_id)
        return self.pages(attempts, lambda page: [attempt_out(attempt) for attempt in page])
