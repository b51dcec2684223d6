"""Who answers: providers, their models, and the agents that people pick."""

from __future__ import annotations

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from core.ids import new_id


def _provider_id() -> str:
    return new_id("prv")


def _model_id() -> str:
    return new_id("mdl")


def _agent_id() -> str:
    return new_id("agt")


class ProviderKind(models.TextChoices):
    OPENAI = "openai", "OpenAI-compatible"
    ANTHROPIC = "anthropic", "Anthropic"
    GOOGLE = "google", "Google"
    LOCAL = "local", "Small model on this machine"
    DEMO = "demo", "Demo (no model)"


class ModelProvider(models.Model):
    """An endpoint with a key. The key is encrypted at rest or named by an environment variable, never shown again."""

    public_id = models.CharField(max_length=40, unique=True, default=_provider_id, editable=False)
    kind = models.CharField(max_length=12, choices=ProviderKind)
    name = models.CharField(max_length=100)
    base_url = models.CharField(max_length=500, blank=True)
    key_encrypted = models.TextField(blank=True, editable=False)
    key_env = models.CharField(max_length=100, blank=True)
    requests_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Scheduled runs beyond it wait in the queue. Empty: no limit.",
    )
    tokens_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Of prompts and answers together; a call that runs counts with its prompt. Empty: no limit.",
    )
    enabled = models.BooleanField(default=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=[k.value for k in ProviderKind]), name="provider_kind_known"),
            models.UniqueConstraint(
                fields=["kind", "name"], condition=Q(deleted_at__isnull=True), name="provider_name_unique"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ChatModel(models.Model):
    """One model of a provider; prices are per million tokens and optional."""

    public_id = models.CharField(max_length=40, unique=True, default=_model_id, editable=False)
    provider = models.ForeignKey(ModelProvider, on_delete=models.PROTECT, related_name="models")
    name = models.CharField(max_length=200, help_text="What the provider calls it.")
    label = models.CharField(max_length=100, blank=True, help_text="What people read.")
    context_window = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens.")
    price_input = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price_cached = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    price_output = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    enabled = models.BooleanField(default=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "name"], condition=Q(deleted_at__isnull=True), name="model_name_unique"
            )
        ]

    def __str__(self) -> str:
        return self.label or self.name


class Agent(models.Model):
    """Instructions on a model. Without an owner it is shared by all. Names may be reused; identity is the id."""

    public_id = models.CharField(max_length=40, unique=True, default=_agent_id, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="agents"
    )
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=300, blank=True)
    instructions = models.TextField(blank=True)
    model = models.ForeignKey(ChatModel, on_delete=models.PROTECT, related_name="agents")
    temperature = models.FloatField(null=True, blank=True)
    max_output_tokens = models.PositiveIntegerField(null=True, blank=True)
    deadline_seconds = models.PositiveIntegerField(null=True, blank=True)
    tools = models.JSONField(default=dict, blank=True)
    enabled = models.BooleanField(default=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(editable=False)

    def __str__(self) -> str:
        return self.name or "Deleted agent"
