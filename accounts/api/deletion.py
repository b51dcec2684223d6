"""`/api/v1/me/deletion` and `/api/v1/me/export`: leave for good, think better of it, take everything along."""

from __future__ import annotations

from typing import Any

from allauth.core import ratelimit
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from accounts import outputs
from accounts.domain.deletion import DeletionState
from accounts.models import DeletionRequest, User
from accounts.selectors.deletions import deletion_of, what_goes
from accounts.services.deletion import deletion_cancel, deletion_hasten, deletion_request, proof_check
from accounts.services.exporting import export_bytes
from core.api import Api, ApiRequest, edge_now, nothing_sent, problems
from core.errors import Refusal
from core.paging import query_of
from core.serializers import FlagField, StrictSerializer, TextField, validated


class SecretField(TextField):
    """A password, exactly as it was typed."""

    def to_internal_value(self, data: Any) -> str:
        super().to_internal_value(data)
        return str(data)


class Proof(StrictSerializer):
    """Who asks proves once more who they are, by password or by a code of their second factor."""

    password = SecretField(least=0, most=4096, required=False)
    code = TextField(least=0, most=64, required=False)


class DeletionAsked(Proof):
    """The body of a request; `even_last` is the second word that the last operator has to say."""

    even_last = FlagField(required=False)


class DeletionShown(serializers.Serializer[Any]):
    """An account's deletion on the wire; `state` is null while none is asked for."""

    state = serializers.ChoiceField(choices=[str(state) for state in DeletionState], allow_null=True)
    requested_at = serializers.DateTimeField(allow_null=True)
    not_before = serializers.DateTimeField(allow_null=True)
    goes = serializers.DictField(child=serializers.IntegerField())


class Deletion(Api):
    """The deletion of the account of the one who asks. Only a session may ask for it: no token ends an account."""

    required_scopes = {
        "retrieve": "any",
        "ask": "session",
        "cancel": "session",
        "hasten": "session",
        "export": "session",
    }
    queryset = DeletionRequest.objects.none()
    serializer_class = DeletionShown

    @extend_schema(operation_id="me_deletion_retrieve", responses={200: DeletionShown, **problems()})
    def retrieve(self, request: ApiRequest) -> Response:
        """Read whether my account is being deleted, and what goes with it."""
        query_of(request)
        return _answer(request.user, deletion_of(request.user.pk))

    @extend_schema(
        operation_id="me_deletion_create",
        request=DeletionAsked,
        responses={202: DeletionShown, **problems(409, 503)},
    )
    def ask(self, request: ApiRequest) -> Response:
        """Ask for the deletion; everything of mine is suspended at once. A second request returns the first."""
        sent = _proved(request, DeletionAsked)
        made = deletion_request(
            user=request.user, actor=request.user, even_last=sent.get("even_last", False), now=edge_now()
        )
        return _answer(request.user, made, 202)

    @extend_schema(operation_id="me_deletion_destroy", responses={200: DeletionShown, **problems(409)})
    def cancel(self, request: ApiRequest) -> Response:
        """Call the deletion off; everything is as before."""
        nothing_sent(request)
        deletion_cancel(user=request.user, actor=request.user, now=edge_now())
        return _answer(request.user, None)

    @extend_schema(operation_id="me_deletion_hasten", request=Proof, responses={202: DeletionShown, **problems(409)})
    def hasten(self, request: ApiRequest) -> Response:
        """End the grace now."""
        _proved(request, Proof)
        return _answer(request.user, deletion_hasten(user=request.user, actor=request.user, now=edge_now()), 202)

    @extend_schema(
        operation_id="me_export_retrieve", responses={(200, "application/zip"): OpenApiTypes.BINARY, **problems()}
    )
    def export(self, request: ApiRequest) -> HttpResponse:
        """Take everything along: schedules, runs, conversations and projects as JSON and Markdown in one zip."""
        query_of(request)
        now = edge_now()
        return outputs.export_answer(export_bytes(user=request.user, now=now), now)


def _proved(request: ApiRequest, reads: type[StrictSerializer]) -> dict[str, Any]:
    """Read the body and check its proof. Raises Refusal `rate_limited` after ten tries in a minute."""
    sent = validated(reads, request.data)
    if not ratelimit.consume(request._request, action="reauthenticate", user=request.user):
        raise Refusal("rate_limited", retry_after=60)
    proof_check(user=request.user, password=sent.get("password", ""), code=sent.get("code", ""))
    return sent


def _answer(user: User, request: DeletionRequest | None, status: int = 200) -> Response:
    return Response(outputs.deletion_out(request, what_goes(user.pk)), status=status)
