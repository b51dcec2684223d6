"""`/api/v1/schedules`: list, create, read, edit, delete, switch, run, preview."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from accounts.api.creating import REPLAYED
from accounts.models import ApiToken, User
from accounts.services.idempotency import digest
from core.api import Api, ApiRequest, edge_now, found, idempotency_key, nothing_sent, problems
from core.errors import Refusal
from core.paging import query_of
from core.serializers import validated
from projects.selectors import policy_of
from schedules.api import schema
from schedules.api.requests import body_of, if_match_of
from schedules.domain.states import RunKind
from schedules.models import Run, Schedule
from schedules.outputs import run_out, schedule_out
from schedules.selectors.lists import (
    STATES,
    in_state,
    run_find,
    schedule_find,
    schedule_row,
    schedule_rows,
    schedules_of,
)
from schedules.services.bodies import FireBody, PreviewBody, ScheduleBody, SkipNextBody
from schedules.services.editing import (
    schedule_create,
    schedule_delete,
    schedule_edit,
    schedule_pause,
    schedule_resume,
    schedule_skip_next,
)
from schedules.services.preview import schedule_preview
from schedules.services.runs import FiredBy, run_known, run_now

READ, WRITE = "schedules:read", "schedules:write"


class Schedules(Api):
    """Schedules of the one who asks, by their next run; those without one last."""

    required_scopes = {
        "list": READ,
        "retrieve": READ,
        "create": WRITE,
        "partial_update": WRITE,
        "destroy": WRITE,
        "preview": READ,
    }
    ordering = ("next_occurrence_at", "id")
    queryset = Schedule.objects.none()
    serializer_class = schema.ScheduleShown

    @extend_schema(
        parameters=schema.filters(
            state=f"One of {', '.join(STATES)}.", agent="Id.", project="Id, or `none`.", q="Part of name or prompt."
        ),
        responses={200: schema.ScheduleShown(many=True), **problems()},
    )
    def list(self, request: ApiRequest) -> Response:
        """List schedules under the filters given."""
        query = query_of(request, "state", "agent", "project", "q")
        return self.pages(
            _filtered(request.user, query), lambda page: [schedule_out(row) for row in schedule_rows(page)]
        )

    @extend_schema(
        request=ScheduleBody,
        parameters=[schema.KEY_HEADER],
        responses={201: schema.ScheduleShown, **problems(409, 410)},
    )
    def create(self, request: ApiRequest) -> Response:
        """Make a schedule; the same `Idempotency-Key` with the same body answers with the one made first."""
        schedule, replayed = schedule_create(
            owner=request.user, body=body_of(request), now=edge_now(), key=idempotency_key(request)
        )
        return answer(schedule, 201, REPLAYED if replayed else {})

    @extend_schema(responses={200: schema.ScheduleShown, **problems(404)})
    def retrieve(self, request: ApiRequest, id: str) -> Response:
        """Read a schedule; `ETag` is its revision in quotes, for `If-Match`."""
        return answer(found(schedule_find(request.user, id)))

    @extend_schema(
        request=ScheduleBody,
        parameters=[schema.IF_MATCH_HEADER],
        responses={200: schema.ScheduleShown, **problems(404, 409)},
    )
    def partial_update(self, request: ApiRequest, id: str) -> Response:
        """Edit a schedule: what is not sent stays as it is; an edit that changes nothing writes nothing."""
        schedule = found(schedule_find(request.user, id))
        wanted = if_match_of(request, schedule.revision)
        return answer(schedule_edit(schedule=schedule, body=body_of(request), now=edge_now(), if_match=wanted))

    @extend_schema(responses={204: None, 202: schema.ScheduleShown, **problems(404)})
    def destroy(self, request: ApiRequest, id: str) -> Response:
        """Delete a schedule: hidden at once, 204 when it is erased, 202 while its last run is being stopped."""
        schedule = found(schedule_find(request.user, id))
        if schedule_delete(schedule=schedule, now=edge_now()):
            return Response(status=204)
        return answer(schedule, 202)

    @extend_schema(request=PreviewBody, responses={200: schema.PreviewShown, **problems()})
    def preview(self, request: ApiRequest) -> Response:
        """Say a cadence in words and list its coming occurrences; nothing is stored."""
        return Response(schedule_preview(owner=request.user, body=body_of(request), now=edge_now()))


class ScheduleActs(Api):
    """What can be done with one schedule."""

    required_scopes = {
        "pause": WRITE,
        "resume": WRITE,
        "skip_next": WRITE,
        "run": ("runs:write", WRITE),
        "fire": "fire:{id}",
    }
    queryset = Schedule.objects.none()
    serializer_class = schema.ScheduleShown

    @extend_schema(operation_id="schedules_pause", request=None, responses={200: schema.ScheduleShown, **problems(404)})
    def pause(self, request: ApiRequest, id: str) -> Response:
        """Switch it off: what waits to start is cancelled, what runs finishes."""
        nothing_sent(request)
        return answer(schedule_pause(schedule=found(schedule_find(request.user, id)), now=edge_now()))

    @extend_schema(
        operation_id="schedules_resume", request=None, responses={200: schema.ScheduleShown, **problems(404, 409)}
    )
    def resume(self, request: ApiRequest, id: str) -> Response:
        """Switch it on, from now; also lifts a block."""
        nothing_sent(request)
        return answer(schedule_resume(schedule=found(schedule_find(request.user, id)), now=edge_now()))

    @extend_schema(
        operation_id="schedules_skip_next",
        request=SkipNextBody,
        responses={200: schema.ScheduleShown, **problems(404, 409)},
    )
    def skip_next(self, request: ApiRequest, id: str) -> Response:
        """Leave out the next occurrence, which is named so that a late request cannot leave out another."""
        schedule = found(schedule_find(request.user, id))
        at = validated(SkipNextBody, request.data)["scheduled_for"]
        return answer(schedule_skip_next(schedule=schedule, scheduled_for=at, now=edge_now()))

    @extend_schema(
        operation_id="schedules_run",
        request=None,
        parameters=[schema.KEY_HEADER],
        responses={202: schema.RunShown, **problems(404, 409, 410, 503)},
    )
    def run(self, request: ApiRequest, id: str) -> Response:
        """Run it now, whatever its times; the same `Idempotency-Key` answers with the run made first."""
        nothing_sent(request)
        key, now = idempotency_key(request), edge_now()
        run_known(owner=request.user, schedule_id=id, kind=RunKind.MANUAL, key=key)
        run = run_now(schedule=found(schedule_find(request.user, id)), actor=request.user, now=now, key=key)
        shown = run_out(found(run_find(request.user, run.public_id)))
        return Response(shown, status=202, headers=_replayed(run, now))

    @extend_schema(
        operation_id="schedules_fire",
        request=FireBody,
        parameters=[schema.KEY_HEADER],
        responses={202: schema.Fired, **problems(404, 409, 410, 429, 503)},
    )
    def fire(self, request: ApiRequest, id: str) -> Response:
        """Start it from outside with a token that can do nothing else; `inputs` stand in the prompt as `{{inputs.name}}`."""
        key, now, sent = idempotency_key(request), edge_now(), digest(request.data)
        run_known(owner=request.user, schedule_id=id, kind=RunKind.API, key=key, digest=sent)
        schedule = found(schedule_find(request.user, id))
        inputs = validated(FireBody, request.data).get("inputs", {})
        by = FiredBy(request.auth.public_id if isinstance(request.auth, ApiToken) else "", inputs, sent)
        run = run_now(schedule=schedule, actor=request.user, now=now, key=key, fired=by)
        return Response({"id": run.public_id, "status": run.status}, status=202, headers=_replayed(run, now))


def _replayed(run: Run, now: datetime) -> dict[str, str]:
    """Return the header of a repeated request: its run was opened by an earlier one."""
    return REPLAYED if run.opened_at < now else {}


def answer(schedule: Schedule, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a schedule with its revision as `ETag`."""
    row = schedule_row(schedule)
    tag = {"ETag": f'"{row.schedule.revision}"'}
    return Response(schedule_out(row), status=status, headers={**tag, **(headers or {})})


def _filtered(owner: User, query: dict[str, str]) -> QuerySet[Schedule]:
    rows = schedules_of(owner)
    if "state" in query:
        if query["state"] not in STATES:
            raise Refusal.at("state", "choice_unknown", choices=", ".join(STATES))
        rows = in_state(rows, query["state"])
    if "agent" in query:
        rows = rows.filter(agent__public_id=query["agent"])
    if "project" in query:
        rows = rows.filter(_files_into(owner, query["project"]))
    if "q" in query:
        rows = rows.filter(Q(name__icontains=query["q"]) | Q(prompt__icontains=query["q"]))
    return rows


def _files_into(owner: User, project: str) -> Q:
    """Return the condition on the effective project (P14): under a pin all schedules file into the same one."""
    policy = policy_of(owner)
    if policy.pinned:
        pin: Any = owner.projects.filter(pk__in=[policy.pin_id]).values_list("public_id", flat=True).first()
        return Q() if project == pin else Q(pk__in=[])
    return Q(project=None) if project == "none" else Q(project__public_id=project)
