"""The bodies that create, edit and preview a schedule (wire.md, Schedule): one serializer for API and form.

It stands with the services because a create is looked up by its key before it is validated, and is part of the
OpenAPI document through the API's annotations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from accounts.models import User
from chats.selectors.conversations import conversation_find
from core.errors import FieldError
from core.problems import field_errors
from core.serializers import (
    AmountField,
    FlagField,
    IdField,
    InstantField,
    ListOf,
    StrictSerializer,
    TextField,
    WholeField,
    WordField,
    refuse,
)
from core.text import has_nul
from schedules.domain import choices
from schedules.domain.states import Misfire, Overlap

MOST_INPUTS, MOST_INPUT = 16, 4_000  # names of a fire, and characters of each text
_NAME = re.compile(r"[a-z0-9_]{1,40}")

CADENCE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Its kind and exactly the fields of that kind.",
    "properties": {
        "kind": {
            "type": "string",
            "enum": [
                "once", "hourly", "daily", "weekdays", "weekly", "monthly", "yearly", "interval", "cron", "rrule",
            ],
        },
        "at": {"type": "string"},
        "minute": {"type": "integer"},
        "time": {"type": "string"},
        "days": {"type": "array", "items": {"type": "string"}},
        "every": {"type": "integer"},
        "unit": {"type": "string"},
        "anchor": {"type": "string"},
        "day": {"oneOf": [{"type": "integer"}, {"type": "string", "enum": ["last"]}]},
        "nth": {"oneOf": [{"type": "integer"}, {"type": "string", "enum": ["last"]}]},
        "weekday": {"type": "string"},
        "month": {"type": "integer"},
        "expression": {"type": "string"},
        "dtstart": {"type": "string"},
        "rule": {"type": "string"},
    },
    "required": ["kind"],
}  # fmt: skip


@extend_schema_field(CADENCE_SCHEMA)
class CadenceField(serializers.JSONField):
    """The cadence as sent; what it means is the domain's to say."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise refuse("wrong_type", expected="an object")
        return data


@extend_schema_field({"type": "string", "format": "date"})
class DateField(IdField):
    """A local date as text, kept as text."""

    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", data, re.ASCII):
            try:
                return date.fromisoformat(data).isoformat()
            except ValueError:
                pass
        raise refuse("wrong_type", expected="a date such as 2026-12-24")


class DatesField(ListOf):
    """Dates, each once and in order, so that the same set is always the same list."""

    def to_internal_value(self, data: Any) -> list[str]:
        return sorted(set(super().to_internal_value(data)))


class TargetField(WordField):
    """Where its runs are said: in a new conversation each. One's own conversation is not offered yet."""

    def to_internal_value(self, data: Any) -> str:
        if data == "new":
            return "new"
        owner = self.context.get("owner")
        own = owner is not None and isinstance(data, str) and not has_nul(data) and conversation_find(owner, data)
        raise refuse("not_offered" if own else "conversation_not_found")


class OnlyField(serializers.JSONField):
    """A choice that nothing enforces yet: its one value is taken, any other one is refused as `not_offered`."""

    def __init__(self, only: Any, **kwargs: Any) -> None:
        self.only = only
        super().__init__(**{"required": False, "allow_null": only is None, **kwargs})

    def to_internal_value(self, data: Any) -> Any:
        if type(data) is not type(self.only) or data != self.only:
            raise refuse("not_offered")
        return data

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if data is None and self.only is not None:
            raise refuse("not_offered")
        return super().run_validation(data)


@extend_schema_field({"type": "string", "description": "Null: not offered yet."})
class NoneYetField(OnlyField):
    """Nothing but null."""


@extend_schema_field({"type": "boolean", "enum": [False], "description": "Not offered yet."})
class OffYetField(OnlyField):
    """Nothing but false."""


@extend_schema_field({"type": "integer", "enum": [choices.APPROVAL_SECONDS], "description": "Not offered yet."})
class ApprovalField(OnlyField):
    """The one time for which an approval would wait."""


@extend_schema_field(
    {
        "type": "object",
        "description": "How many of its conversations are kept: all; nothing else is offered yet.",
        "properties": {"keep": {"type": "string", "enum": ["all"]}},
        "required": ["keep"],
    }
)
class RetentionField(OnlyField):
    """All conversations are kept."""


@extend_schema_field(
    {"type": "array", "items": {"type": "string"}, "maxItems": 0, "description": "No channel is offered yet."}
)
class ChannelsField(OnlyField):
    """No channels."""


class NotifyBody(StrictSerializer):
    """Of which outcomes its owner is told."""

    on = WordField(choices=choices.NOTIFY_ON)
    channels = ChannelsField([])

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "on" not in attrs:
            # It is needed also when the body around it is partial.
            raise ValidationError({"on": refuse("required").detail})
        return {"on": attrs["on"], "channels": []}


class ScheduleBody(StrictSerializer):
    """A schedule as a client writes it. A create needs name, prompt, agent and cadence; an edit needs nothing."""

    name = TextField(most=200, stored=1_000)
    prompt = TextField(most=32_000)
    agent = IdField()
    project = IdField(required=False, allow_null=True)
    cadence = CadenceField()
    zone = TextField(most=64, required=False)
    until = InstantField(required=False, allow_null=True)
    max_runs = WholeField(least=1, most=choices.MOST_RUNS, required=False, allow_null=True)
    skip_dates = DatesField(child=DateField(), most=choices.MOST_SKIP_DATES, required=False)
    enabled = FlagField(required=False)
    target = TargetField(choices=("new",), required=False)
    overlap_policy = WordField(choices=[policy.value for policy in Overlap], required=False)
    misfire_policy = WordField(choices=[policy.value for policy in Misfire], required=False)
    misfire_grace_seconds = WholeField(least=0, most=choices.MOST_GRACE_SECONDS, required=False)
    approval_ttl_seconds = ApprovalField(choices.APPROVAL_SECONDS)
    hold_on_approval = OffYetField(False)
    deadline_seconds = WholeField(
        least=choices.LEAST_DEADLINE_SECONDS, most=settings.MAX_DEADLINE_SECONDS, required=False, allow_null=True
    )
    retry_window_seconds = WholeField(least=0, most=choices.MOST_RETRY_WINDOW_SECONDS, required=False)
    goal = NoneYetField(None)
    monthly_budget = AmountField(required=False, allow_null=True)
    retention = RetentionField(choices.DEFAULT_RETENTION)
    notify = NotifyBody(required=False)


class PreviewBody(StrictSerializer):
    """A cadence to be shown before it is saved; `after` stands for now."""

    cadence = CadenceField()
    zone = TextField(most=64, required=False)
    after = InstantField(required=False)
    count = WholeField(least=1, most=50, required=False)


class SkipNextBody(StrictSerializer):
    """The occurrence to leave out, named so that a late press cannot leave out another."""

    scheduled_for = InstantField()


class InputsField(serializers.DictField):
    """Texts by name for `{{inputs.name}}`: at most 16, names of small letters, digits and `_`, 4,000 characters each."""

    child = TextField(least=0, most=MOST_INPUT)

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict):
            raise refuse("wrong_type", expected="an object of texts")
        if len(data) > MOST_INPUTS:
            raise refuse("out_of_range", least=0, most=f"{MOST_INPUTS} inputs")
        named = "text under a name of 1 to 40 small letters, digits and _"
        strange = {name[:40]: refuse("wrong_type", expected=named).detail for name in data if not _NAME.fullmatch(name)}
        if strange:
            raise ValidationError(strange)
        return dict(super().to_internal_value(data))


class FireBody(StrictSerializer):
    """What a fire gives to the prompt."""

    inputs = InputsField(required=False)


def body_read(
    kind: type[StrictSerializer], data: Mapping[str, Any], *, partial: bool, owner: User | None = None
) -> tuple[dict[str, Any], list[FieldError]]:
    """Return the values that fit and the refusals of all others, so that later questions can be asked as well.

    Raises nothing; with `partial` what is not sent is left out. `owner` is whose conversations `target` may name.
    """
    fields = kind(partial=partial, context={"owner": owner}).fields
    values: dict[str, Any] = {}
    errors: list[FieldError] = []
    for name, field in fields.items():
        try:
            values[name] = field.run_validation(data.get(name, serializers.empty))
        except serializers.SkipField:
            continue
        except ValidationError as error:
            errors += field_errors(error.detail, name)
    errors += [FieldError(str(name), "unknown_field", {"name": str(name)}) for name in data if name not in fields]
    return values, errors
