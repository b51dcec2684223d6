"""`/api/v1/me`, `/api/v1/tokens` and `/api/v1/audit`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response

from accounts import outputs
from accounts.api.creating import created
from accounts.api.serializers import AuditShown, MeEdit, MeShown, TokenCreate, TokenMade, TokenShown
from accounts.models import ApiToken, AuditEntry, User
from accounts.selectors.audit import audit_entries, may_read_audit, people_named
from accounts.selectors.permissions import held
from accounts.selectors.tokens import token_find, tokens_of
from accounts.services.tokens import token_create, token_revoke
from accounts.services.users import profile_edit
from core.api import KEYED, Api, ApiRequest, edge_now, found, problems
from core.errors import Refusal
from core.paging import query_of
from core.serializers import instant_filter, validated

AUDIT_FILTERS = {
    "act": "Kind of thing and verb: `limitset.changed`, `user.access`.",
    "kind": "Kind of thing that was acted on: `schedule`, `user`.",
    "subject": "Id of what was acted on.",
    "who": "Key of the person who acted.",
    "whom": "Key of the person whose it is.",
    "source": "`admin`, `panel`, `api`, `command` or `system`.",
    "request_id": "Id of the request (`X-Request-ID`).",
    "since": "Instant: then or later.",
    "until": "Instant: before then.",
}


class Me(Api):
    """The one who asks."""

    required_scopes = {"retrieve": "any", "partial_update": ("schedules:write", "conversations:write")}
    queryset = User.objects.none()
    serializer_class = MeShown

    @extend_schema(operation_id="me_retrieve", responses={200: MeShown, **problems()})
    def retrieve(self, request: ApiRequest) -> Response:
        """Read who I am here, and what I may do."""
        return Response(outputs.me_out(request.user, held(request.user)))

    @extend_schema(operation_id="me_partial_update", request=MeEdit, responses={200: MeShown, **problems()})
    def partial_update(self, request: ApiRequest) -> Response:
        """Change how times and names are shown to me."""
        user = profile_edit(user=request.user, values=validated(MeEdit, request.data))
        return Response(outputs.me_out(user, held(user)))


class Audit(Api):
    """The audit log, for operators who may read it; a token of theirs needs `audit:read`."""

    required_scopes = {"list": "audit:read"}
    queryset = AuditEntry.objects.none()
    serializer_class = AuditShown

    @extend_schema(
        operation_id="audit_list",
        parameters=[OpenApiParameter(name, str, description=text) for name, text in AUDIT_FILTERS.items()],
        responses={200: AuditShown(many=True), **problems()},
    )
    def list(self, request: ApiRequest) -> Response:
        """List what operators and policy did, newest first."""
        query = query_of(request, *AUDIT_FILTERS)
        if not may_read_audit(request.user):
            raise Refusal("permission_denied")
        since, until = instant_filter(query, "since"), instant_filter(query, "until")
        rows = audit_entries(values=query, subject=query.get("subject"), since=since, until=until)
        return self.pages(rows, _audit_out)


def _audit_out(page: Sequence[AuditEntry]) -> Iterable[outputs.Json]:
    people = people_named({key for entry in page for key in (entry.who, entry.whom)})
    return [outputs.audit_out(entry, people) for entry in page]


class Tokens(Api):
    """API tokens of the one who asks. Making and revoking them needs a session: no token begets another."""

    required_scopes = {"list": "any", "create": "session", "destroy": "session"}
    ordering = ("-created", "public_id")
    queryset = ApiToken.objects.none()
    serializer_class = TokenShown

    @extend_schema(responses={200: TokenShown(many=True), **problems()})
    def list(self, request: ApiRequest) -> Response:
        """List tokens, newest first, without their secrets."""
        query_of(request)
        now = edge_now()
        return self.pages(tokens_of(request.user), lambda page: [outputs.token_out(t, now=now) for t in page])

    @extend_schema(parameters=[KEYED], request=TokenCreate, responses={201: TokenMade, **problems(409, 410)})
    def create(self, request: ApiRequest) -> Response:
        """Make a token. Its secret is in this answer and nowhere else; a replay leaves it out."""
        now = edge_now()
        secrets: list[str] = []

        def make(values: dict) -> ApiToken:  # type: ignore[type-arg]
            token, secret = token_create(user=request.user, actor=request.user, now=now, **values)
            secrets.append(secret)
            return token

        token, headers = created(
            request,
            act="token_create",
            reads=TokenCreate,
            make=make,
            find=lambda public_id: token_find(request.user, public_id),
            now=now,
        )
        shown = outputs.token_out(token, now=now, secret=secrets[0] if secrets else None)
        return Response({"token": None} | shown, status=201, headers=headers)

    @extend_schema(responses={204: None, **problems(404)})
    def destroy(self, request: ApiRequest, id: str) -> Response:
        """Revoke a token; it ends at once."""
        token_revoke(token=found(token_find(request.user, id)), actor=request.user, now=edge_now())
        return Response(status=204)
