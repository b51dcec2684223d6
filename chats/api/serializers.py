"""What `/api/v1/conversations` reads, and what its OpenAPI description says it answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from chats.domain.states import TurnStatus
from core.serializers import FlagField, IdField, StrictSerializer, TextField


class ConversationCreate(StrictSerializer):
    """The body of a create."""

    title = TextField(most=200, stored=1000)
    agent = IdField(required=False, allow_null=True)
    project = IdField(required=False, allow_null=True)


class ConversationEdit(StrictSerializer):
    """The body of a patch: what is not sent stays as it is; a null project files it in none."""

    title = TextField(most=200, stored=1000, required=False)
    project = IdField(required=False, allow_null=True)
    pinned = FlagField(required=False)
    unread = FlagField(required=False)


class Named(serializers.Serializer[Any]):
    """A project by name."""

    id = serializers.CharField()
    name = serializers.CharField()


class NamedAgent(Named):
    """An agent by name, with its state."""

    state = serializers.CharField()


class ConversationShown(serializers.Serializer[Any]):
    """A conversation on the wire."""

    id = serializers.CharField()
    title = serializers.CharField()
    project = Named(allow_null=True)
    agent = NamedAgent(allow_null=True)
    origin = serializers.CharField()
    unread = serializers.BooleanField()
    pinned = serializers.BooleanField()
    archived = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class MessageShown(serializers.Serializer[Any]):
    """A message on the wire."""

    id = serializers.CharField()
    sequence = serializers.IntegerField()
    turn = serializers.CharField(allow_null=True)
    role = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    parts = serializers.ListField(child=serializers.DictField())
    source = serializers.DictField()  # type: ignore[assignment]
    state = serializers.ChoiceField(choices=["streaming", "complete", "partial"])
    created_at = serializers.DateTimeField()


class TurnShown(serializers.Serializer[Any]):
    """A turn on the wire."""

    id = serializers.CharField()
    origin = serializers.CharField()
    run = serializers.CharField(allow_null=True)
    status = serializers.ChoiceField(choices=[status.value for status in TurnStatus])
    code = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)


class UsedShown(serializers.Serializer[Any]):
    """Figures of usage; `estimated` when some of it was counted by its text."""

    turns = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField(help_text="Part of the input.")
    output_tokens = serializers.IntegerField()
    cost = serializers.CharField(help_text="Decimal text; what had no price is left out.")
    estimated = serializers.BooleanField()


class UsageRow(UsedShown):
    """A sum under one day, schedule, agent or model."""

    key = serializers.CharField(allow_null=True, help_text="A date or an id; null for turns that no schedule began.")
    name = serializers.CharField(allow_null=True, help_text="Null for a day and for what is gone.")


class SpendStanding(serializers.Serializer[Any]):
    """Where the person stands this month; amounts are decimal text, null without a limit or a credit."""

    month = serializers.CharField()
    spent = serializers.CharField()
    reserved = serializers.CharField(help_text="For runs that are going on.")
    most = serializers.CharField(allow_null=True)
    resumes_on = serializers.DateField()
    balance = serializers.CharField(allow_null=True)


class UsageShown(serializers.Serializer[Any]):
    """Usage on the wire."""

    since = serializers.DateField()
    until = serializers.DateField()
    by = serializers.ChoiceField(choices=["day", "schedule", "agent", "model"])
    this_month = SpendStanding()
    total = UsedShown()
    results = UsageRow(many=True)
