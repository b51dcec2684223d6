"""What is said: conversations, the turns that generate answers, their attempts, and the messages."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models import Agent
from chats.domain.states import ACTIVE_TURN, TERMINAL_TURN, TurnStatus
from core.ids import new_id
from projects.models import ChatProject


def _conversation_id() -> str:
    return new_id("cnv")


def _turn_id() -> str:
    return new_id("trn")


def _message_id() -> str:
    return new_id("msg")


class Conversation(models.Model):
    """A thread of one owner, filed in at most one project. `changes` grows with every write readers should notice."""

    public_id = models.CharField(max_length=40, unique=True, default=_conversation_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    project = models.ForeignKey(ChatProject, null=True, blank=True, on_delete=models.PROTECT)
    agent = models.ForeignKey(Agent, null=True, blank=True, on_delete=models.PROTECT)
    title = models.CharField(max_length=4200)
    origin = models.CharField(max_length=10, default="person")
    unread = models.BooleanField(default=False)
    pinned = models.BooleanField(default=False)
    auto_turns_since_person = models.PositiveIntegerField(default=0)
    changes = models.PositiveBigIntegerField(default=0)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-updated_at"], name="conversation_owner_updated"),
            models.Index(fields=["project", "-updated_at"], name="conversation_project_updated"),
        ]

    def __str__(self) -> str:
        return self.title or "Deleted conversation"


class Turn(models.Model):
    """One agent generation, whatever started it.

    `fence` grows with each lease: a worker that stalled and wakes loses (R4). `series` makes turns wait for each
    other: of those with one series at most one runs, in the order of `series_order`. `leased_seconds` is the time
    already spent under finished leases, which the deadline counts (R27). `billed_to` is the public id of the schedule
    whose budget it counts for. `reserved` counts as spent as long as the turn runs, and only then: a lease that is
    lost gives it back when it is healed.
    """

    public_id = models.CharField(max_length=40, unique=True, default=_turn_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    conversation = models.ForeignKey(Conversation, null=True, on_delete=models.CASCADE, related_name="turns")
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    origin = models.CharField(max_length=10)
    lane = models.CharField(max_length=12, default="scheduled")
    status = models.CharField(max_length=16, default=TurnStatus.QUEUED)
    series = models.CharField(max_length=60, null=True)
    series_order = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    queued_at = models.DateTimeField()
    not_before = models.DateTimeField(help_text="Not leased earlier: retry wait, or the instant of queueing.")
    started_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    leased_by = models.CharField(max_length=80, blank=True)
    leased_at = models.DateTimeField(null=True)
    lease_expires_at = models.DateTimeField(null=True)
    fence = models.PositiveIntegerField(default=0)
    stop_requested_at = models.DateTimeField(null=True)
    stop_reason = models.CharField(max_length=40, blank=True)
    examined_at = models.DateTimeField(null=True, help_text="When recovery last looked at it.")
    deadline_seconds = models.PositiveIntegerField(default=600)
    retry_window_seconds = models.PositiveIntegerField(default=3600)
    first_dispatched_at = models.DateTimeField(null=True)
    leased_seconds = models.FloatField(default=0)
    attempts_made = models.PositiveIntegerField(default=0)
    side_effects = models.BooleanField(default=False, help_text="A tool with effects has run: no blind retry.")
    error_code = models.CharField(max_length=40, blank=True)
    error_text = models.CharField(max_length=1000, blank=True)
    error_params = models.JSONField(default=dict)
    output_cut = models.BooleanField(default=False)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    usage_estimated = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    billed_to = models.CharField(max_length=40, blank=True, default="", db_default="", editable=False)
    reserved = models.DecimalField(max_digits=14, decimal_places=6, default=0, db_default=0, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(status__in=[s.value for s in TurnStatus]), name="turn_status_known"),
            models.CheckConstraint(
                condition=Q(status__in=TERMINAL_TURN, settled_at__isnull=False)
                | Q(~Q(status__in=TERMINAL_TURN), settled_at__isnull=True),
                name="turn_settled_when_terminal",
            ),
            models.CheckConstraint(
                condition=~Q(status=TurnStatus.RUNNING) | Q(lease_expires_at__isnull=False),
                name="turn_running_is_leased",
            ),
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(status__in=ACTIVE_TURN, conversation__isnull=False),
                name="turn_one_active_per_conversation",
            ),
            models.UniqueConstraint(
                fields=["series"],
                condition=Q(status=TurnStatus.RUNNING, series__isnull=False),
                name="turn_one_running_per_series",
            ),
        ]
        indexes = [
            models.Index(
                fields=["lane", "owner", "queued_at"], condition=Q(status=TurnStatus.QUEUED), name="turn_queued"
            ),
            models.Index(fields=["not_before"], condition=Q(status=TurnStatus.QUEUED), name="turn_waiting"),
            models.Index(
                fields=["owner", "lease_expires_at"], condition=Q(status=TurnStatus.RUNNING), name="turn_running"
            ),
            models.Index(
                fields=["series", "series_order"],
                condition=Q(status__in=[TurnStatus.QUEUED, TurnStatus.RUNNING]),
                name="turn_series_unfinished",
            ),
            models.Index(fields=["conversation", "id"], name="turn_conversation"),
            models.Index(
                fields=["owner", "lane", "-leased_at"], condition=Q(leased_at__isnull=False), name="turn_served"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id


class TurnAttempt(models.Model):
    """One try at a turn's model call. `dispatched_at` is committed before the call leaves."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    fence = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    dispatched_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=16, blank=True)
    error_code = models.CharField(max_length=40, blank=True)
    error_text = models.CharField(max_length=1000, blank=True)
    certainty = models.CharField(max_length=10, blank=True)
    retryable = models.BooleanField(default=False)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    # Only with a provider that has a limit per minute: whom the call counts against, and as what until it is reported.
    metered_by = models.ForeignKey(
        "agents.ModelProvider", null=True, editable=False, on_delete=models.SET_NULL, db_index=False, related_name="+"
    )
    metered_tokens = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "fence"], name="attempt_one_per_lease")]
        indexes = [
            models.Index(
                fields=["metered_by", "started_at"], condition=Q(metered_by__isnull=False), name="attempt_metered"
            )
        ]
        ordering = ["number", "fence"]


class Message(models.Model):
    """One thing said. The answer of a turn is one row: a new attempt takes over the draft of a dead one (`fence`)."""

    public_id = models.CharField(max_length=40, unique=True, default=_message_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    turn = models.ForeignKey(Turn, null=True, on_delete=models.CASCADE, related_name="messages")
    sequence = models.PositiveIntegerField()
    role = models.CharField(max_length=10)
    text = models.TextField(blank=True)
    parts = models.JSONField(default=list)
    model_messages = models.TextField(blank=True, help_text="The model library's own history of the step, JSON.")
    library = models.CharField(max_length=60, blank=True)
    source = models.JSONField(default=dict)
    state = models.CharField(max_length=10, default="complete")
    fence = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "sequence"], name="message_sequence_unique"),
            models.UniqueConstraint(fields=["turn", "role"], name="message_one_opening_one_answer_per_turn"),
            models.CheckConstraint(
                condition=Q(state__in=["streaming", "complete", "partial"]), name="message_state_known"
            ),
        ]
        ordering = ["sequence"]
        permissions = [("view_message_text", "Can read what people and agents wrote")]


class WorkerHost(models.Model):
    """One row per running worker command: proof that its clock ticks and its drains live."""

    name = models.CharField(max_length=80, unique=True)
    hostname = models.CharField(max_length=100)
    place = models.CharField(max_length=80, blank=True, help_text="Boot and process numbers it shares with others.")
    started_at = models.DateTimeField()
    clock_at = models.DateTimeField(null=True)
    drain_at = models.DateTimeField(null=True)
    cluster_restarts = models.PositiveIntegerField(default=0)
    stopped_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
