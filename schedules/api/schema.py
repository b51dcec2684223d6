"""The answers of this API for the OpenAPI document; `schedules.outputs` makes them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from chats.api.serializers import Named, NamedAgent
from schedules.domain import choices
from schedules.domain.states import Misfire, Overlap, RunKind, RunStatus
from schedules.selectors.lists import STATES
from schedules.services.bodies import (
    CADENCE_SCHEMA,
    ApprovalField,
    ChannelsField,
    NoneYetField,
    OffYetField,
    RetentionField,
)


class Note(serializers.Serializer[Any]):
    """A code of the catalogue with its sentence."""

    code = serializers.CharField()
    text = serializers.CharField()


class NotifyShown(serializers.Serializer[Any]):
    on = serializers.ChoiceField(choices=choices.NOTIFY_ON)
    channels = ChannelsField([], required=True)


@extend_schema_field(CADENCE_SCHEMA)
class CadenceShown(serializers.JSONField):
    """A cadence with the fields of its kind."""


class LastRun(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(choices=[status.value for status in RunStatus])
    reason = serializers.CharField(allow_null=True)
    scheduled_for = serializers.DateTimeField()
    delay_seconds = serializers.IntegerField(allow_null=True)
    conversation = serializers.CharField(allow_null=True)


class ScheduleShown(serializers.Serializer[Any]):
    """A schedule as it is read."""

    id = serializers.CharField()
    revision = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    name = serializers.CharField()
    prompt = serializers.CharField()
    agent = NamedAgent()
    project = Named(allow_null=True)
    project_source = serializers.ChoiceField(choices=["pin", "stored", "conversation", "none"])
    cadence = CadenceShown()
    zone = serializers.CharField()
    until = serializers.DateTimeField(allow_null=True)
    max_runs = serializers.IntegerField(allow_null=True)
    skip_dates = serializers.ListField(child=serializers.DateField())
    enabled = serializers.BooleanField()
    target = serializers.CharField()
    overlap_policy = serializers.ChoiceField(choices=[policy.value for policy in Overlap])
    misfire_policy = serializers.ChoiceField(choices=[policy.value for policy in Misfire])
    misfire_grace_seconds = serializers.IntegerField()
    approval_ttl_seconds = ApprovalField(choices.APPROVAL_SECONDS, required=True)
    hold_on_approval = OffYetField(False, required=True)
    deadline_seconds = serializers.IntegerField(allow_null=True)
    retry_window_seconds = serializers.IntegerField()
    goal = NoneYetField(None, required=True)
    monthly_budget = serializers.CharField(allow_null=True, help_text="Decimal text.")
    retention = RetentionField(choices.DEFAULT_RETENTION, required=True)
    notify = NotifyShown()
    state = serializers.ChoiceField(choices=STATES)
    blocked_reason = serializers.CharField(allow_null=True)
    blocked_text = serializers.CharField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)
    next_run_at = serializers.DateTimeField(allow_null=True)
    pending_approvals = serializers.IntegerField()
    description = serializers.CharField()
    last_run = LastRun(allow_null=True)
    succeeded_count = serializers.IntegerField()
    failure_streak = serializers.IntegerField()
    balance_skip_streak = serializers.IntegerField()


class RunError(serializers.Serializer[Any]):
    code = serializers.CharField()
    text = serializers.CharField()
    attempt = serializers.IntegerField()


class RunShown(serializers.Serializer[Any]):
    """A ledger row as it is read."""

    id = serializers.CharField()
    schedule = serializers.CharField(allow_null=True)
    kind = serializers.ChoiceField(choices=[kind.value for kind in RunKind])
    scheduled_for = serializers.DateTimeField()
    missed_until = serializers.DateTimeField(allow_null=True)
    missed_count = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(choices=[status.value for status in RunStatus])
    reason = serializers.CharField(allow_null=True)
    reason_text = serializers.CharField(allow_null=True)
    delay_seconds = serializers.IntegerField(allow_null=True)
    opened_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)
    duration_seconds = serializers.IntegerField(allow_null=True)
    attempts = serializers.IntegerField()
    project = Named(allow_null=True)
    conversation = serializers.CharField(allow_null=True)
    prompt = serializers.CharField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.CharField(allow_null=True)
    error = RunError(allow_null=True)  # type: ignore[assignment]
    agent = NamedAgent()
    goal = serializers.CharField(allow_null=True)
    revision = serializers.IntegerField()
    due_at = serializers.DateTimeField()
    late = serializers.BooleanField()
    shifted = serializers.BooleanField()
    again_of = serializers.CharField(allow_null=True)
    notified = serializers.ChoiceField(
        choices=["none", "sent", "failed"], help_text="Whether a channel has told its owner; `none` without channels."
    )


class Fired(serializers.Serializer[Any]):
    """A run that a fire started; a fire token reads nothing else."""

    id = serializers.CharField()
    status = serializers.ChoiceField(choices=[status.value for status in RunStatus])


class AttemptShown(serializers.Serializer[Any]):
    """One try at a run's model call."""

    number = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    outcome = serializers.CharField(allow_null=True)
    code = serializers.CharField(allow_null=True)
    certainty = serializers.CharField(allow_null=True)
    retryable = serializers.BooleanField()


class PreviewOccurrence(serializers.Serializer[Any]):
    at = serializers.DateTimeField()
    local = serializers.CharField()
    shifted = serializers.BooleanField()


class PreviewShown(serializers.Serializer[Any]):
    description = serializers.CharField()
    occurrences = PreviewOccurrence(many=True)
    warnings = Note(many=True)


KEY_HEADER = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER,
    description="1 to 128 characters. The same key with the same body is the same act.",
)  # fmt: skip
IF_MATCH_HEADER = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER,
    description="The revision in quotes, as `ETag` has it; another one is refused with `schedule_changed`.",
)  # fmt: skip


def filters(**described: str) -> list[OpenApiParameter]:
    """Return query parameters by name and description."""
    return [
        OpenApiParameter(name, OpenApiTypes.STR, OpenApiParameter.QUERY, description=text)
        for name, text in described.items()
    ]
