"""What `/api/v1/projects` reads, and what its OpenAPI description says it answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from core.serializers import FlagField, StrictSerializer, TextField, WholeField


class ProjectCreate(StrictSerializer):
    """The body of a create."""

    name = TextField(most=100, stored=1000)
    description = TextField(least=0, most=1000, required=False)
    colour = WholeField(least=1, most=8, required=False)


class ProjectEdit(StrictSerializer):
    """The body of a patch: what is not sent stays as it is."""

    name = TextField(most=100, stored=1000, required=False)
    description = TextField(least=0, most=1000, required=False)
    colour = WholeField(least=1, most=8, required=False)
    archived = FlagField(required=False)


class ProjectShown(serializers.Serializer[Any]):
    """A project on the wire."""

    id = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    colour = serializers.IntegerField(min_value=1, max_value=8)
    archived = serializers.BooleanField()
    conversation_count = serializers.IntegerField()
    schedule_count = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
