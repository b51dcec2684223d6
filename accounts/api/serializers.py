"""What the account's part of the API reads, and what its OpenAPI description says it answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from accounts.models import AuditEntry
from core.serializers import IdField, InstantField, ListOf, StrictSerializer, TextField, WholeField, WordField


class MeEdit(StrictSerializer):
    """What a person may change about themselves by API; what is not sent stays."""

    display_name = TextField(least=0, most=100, stored=100, required=False)
    zone = TextField(most=64, required=False)
    locale = TextField(most=16, required=False)
    clock = WordField(choices=["24", "12"], required=False)
    first_weekday = WholeField(least=0, most=6, required=False)


class MeShown(serializers.Serializer[Any]):
    """The one who asks, on the wire."""

    id = serializers.CharField()
    email = serializers.CharField()
    display_name = serializers.CharField(allow_blank=True)
    zone = serializers.CharField()
    locale = serializers.CharField()
    clock = serializers.ChoiceField(choices=["24", "12"])
    first_weekday = serializers.IntegerField(min_value=0, max_value=6)
    operator = serializers.BooleanField()
    permissions = serializers.ListField(child=serializers.CharField())


class TokenCreate(StrictSerializer):
    """The body of a create."""

    name = TextField(most=100, stored=100)
    scopes = ListOf(child=IdField(), least=1, most=50)
    expires_at = InstantField(required=False, allow_null=True, source="expiry")


class TokenShown(serializers.Serializer[Any]):
    """A token on the wire."""

    id = serializers.CharField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    expired = serializers.BooleanField()
    last_used_at = serializers.DateTimeField(allow_null=True)


class TokenMade(TokenShown):
    """A token right after it was made; a replay has null in place of the secret."""

    token = serializers.CharField(allow_null=True)


class AuditPerson(serializers.Serializer[Any]):
    """A person in the audit log: the random key that stands there, and who it is as long as they have an account."""

    key = serializers.CharField()
    email = serializers.CharField(allow_null=True)


class AuditShown(serializers.Serializer[Any]):
    """An entry of the audit log on the wire."""

    id = serializers.CharField()
    at = serializers.DateTimeField()
    act = serializers.CharField()
    who = AuditPerson(allow_null=True)
    source = serializers.ChoiceField(choices=list(AuditEntry.SOURCES))  # type: ignore[assignment]
    request_id = serializers.CharField(allow_blank=True)
    kind = serializers.CharField(allow_blank=True)
    subject = serializers.CharField(allow_null=True)
    whom = AuditPerson(allow_null=True)
    before = serializers.DictField()
    after = serializers.DictField()
