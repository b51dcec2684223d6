"""`/api/v1/projects` and `/api/v1/limits`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response

from accounts.api.creating import created
from accounts.selectors.limits import limits_of
from core.api import KEYED, Api, ApiRequest, edge_now, found, problems
from core.errors import Refusal
from core.paging import flag_of, query_of
from core.registry import used_by
from core.serializers import validated
from projects import services
from projects.api.serializers import ProjectCreate, ProjectEdit, ProjectShown
from projects.domain.destination import UNSENT, Unsent
from projects.models import ChatProject
from projects.outputs import limits_out, project_out
from projects.selectors import filed_counts, policy_of, project_facts, project_find, projects_matching

READ = ("conversations:read", "schedules:read", "conversations:write", "schedules:write")
WRITE = ("conversations:write", "schedules:write")

ARCHIVED = OpenApiParameter("archived", bool, description="Only archived, or only open ones.")
TEXT = OpenApiParameter("q", str, description="In name or description.")
MOVE_TO = OpenApiParameter(
    "move_to",
    str,
    description="Where the schedules that file into it go: the id of another project, or `none`. "
    "Without it they keep pointing at the deleted project and their next run is refused.",
)


def shown(projects: list[ChatProject]) -> list[dict[str, Any]]:
    """Return the wire shapes of `projects`, counted in bulk."""
    counts = filed_counts([project.pk for project in projects])
    return [project_out(project, counts[project.pk]) for project in projects]


class Projects(Api):
    """Chat projects of the one who asks."""

    required_scopes = {"list": READ, "retrieve": READ, "create": WRITE, "partial_update": WRITE, "destroy": WRITE}
    ordering = ("name_key", "id")
    queryset = ChatProject.objects.none()
    serializer_class = ProjectShown

    @extend_schema(parameters=[ARCHIVED, TEXT], responses={200: ProjectShown(many=True), **problems()})
    def list(self, request: ApiRequest) -> Response:
        """List projects by name."""
        query = query_of(request, "archived", "q")
        rows = projects_matching(request.user, archived=flag_of(query, "archived"), text=query.get("q", ""))
        return self.pages(rows, shown)

    @extend_schema(parameters=[KEYED], request=ProjectCreate, responses={201: ProjectShown, **problems(409, 410)})
    def create(self, request: ApiRequest) -> Response:
        """Make a project."""
        now = edge_now()
        project, headers = created(
            request,
            act="project_create",
            reads=ProjectCreate,
            make=lambda values: services.project_create(owner=request.user, now=now, **values),
            find=lambda public_id: project_find(request.user, public_id),
            now=now,
        )
        return Response(shown([project])[0], status=201, headers=headers)

    @extend_schema(responses={200: ProjectShown, **problems(404)})
    def retrieve(self, request: ApiRequest, id: str) -> Response:
        """Read one project."""
        return Response(shown([found(project_find(request.user, id))])[0])

    @extend_schema(request=ProjectEdit, responses={200: ProjectShown, **problems(404, 409)})
    def partial_update(self, request: ApiRequest, id: str) -> Response:
        """Change what is sent, leave the rest. A pinned project can be neither renamed nor archived (409)."""
        project = found(project_find(request.user, id))
        values = validated(ProjectEdit, request.data)
        return Response(shown([services.project_edit(project=project, values=values, now=edge_now())])[0])

    @extend_schema(parameters=[MOVE_TO], responses={204: None, **problems(404, 409)})
    def destroy(self, request: ApiRequest, id: str) -> Response:
        """Delete the project; its conversations stay, in no project."""
        project = found(project_find(request.user, id))
        services.project_delete(project=project, move_to=_move_to(request), now=edge_now())
        return Response(status=204)


def _move_to(request: ApiRequest) -> ChatProject | Unsent | None:
    query = query_of(request, "move_to", paged=False)
    if "move_to" not in query:
        return UNSENT
    if query["move_to"] == "none":
        return None
    target = project_find(request.user, query["move_to"])
    if target is None:
        raise Refusal.at("move_to", "project_not_found")
    return target


class LimitsOfMine(Api):
    """What binds the one who asks, and where each value comes from."""

    required_scopes = {"retrieve": "any"}

    @extend_schema(operation_id="limits_retrieve", responses={200: dict, **problems()})
    def retrieve(self, request: ApiRequest) -> Response:
        """Read every limit with its source, and how many schedules count for the cap."""
        policy = policy_of(request.user)
        pin = project_facts([policy.pin_id])[policy.pin_id].public_id if policy.pin_id is not None else None
        return Response(limits_out(limits_of(request.user), policy, pin, used_by(request.user)))
