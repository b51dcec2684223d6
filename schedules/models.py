"""When it is said: schedules, and the ledger of their runs."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from agents.models import Agent
from chats.models import Conversation, Turn
from core.ids import new_id
from projects.models import ChatProject
from schedules.domain.states import TERMINAL, Misfire, Overlap, RunKind, RunStatus


def _schedule_id() -> str:
    return new_id("sch")


def _run_id() -> str:
    return new_id("run")


class Schedule(models.Model):
    """A prompt, an agent, a cadence, a project.

    `planned_through` is the truth (every occurrence up to it has its row); `next_run_at` is the indexed instant at
    which the clock looks again, null unless the schedule is on; `next_occurrence_at` is the nominal instant shown.
    """

    public_id = models.CharField(max_length=40, unique=True, default=_schedule_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="schedules")
    name = models.CharField(max_length=4000, help_text="1 to 200 characters as people count them.")
    prompt = models.TextField()
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    project = models.ForeignKey(ChatProject, null=True, blank=True, on_delete=models.PROTECT)
    target = models.ForeignKey(Conversation, null=True, blank=True, on_delete=models.PROTECT)
    cadence = models.JSONField()
    zone = models.CharField(max_length=64)
    until = models.DateTimeField(null=True, blank=True)
    max_runs = models.PositiveIntegerField(null=True, blank=True)
    skip_dates = models.JSONField(default=list)
    skip_next_at = models.DateTimeField(null=True, blank=True)

    enabled = models.BooleanField(default=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    blocked_reason = models.CharField(max_length=40, blank=True)
    blocked_params = models.JSONField(default=dict)
    blocked_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    deleting_at = models.DateTimeField(null=True, blank=True)

    overlap_policy = models.CharField(max_length=10, default=Overlap.SKIP)
    misfire_policy = models.CharField(max_length=10, default=Misfire.MISS)
    misfire_grace_seconds = models.PositiveIntegerField(default=900)
    deadline_seconds = models.PositiveIntegerField(null=True, blank=True)
    retry_window_seconds = models.PositiveIntegerField(default=3600)
    approval_ttl_seconds = models.PositiveIntegerField(default=86400)
    hold_on_approval = models.BooleanField(default=False)
    monthly_budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    retention = models.JSONField(default=dict)
    notify = models.JSONField(default=dict)

    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    planned_through = models.DateTimeField()
    next_run_at = models.DateTimeField(null=True, blank=True)
    next_occurrence_at = models.DateTimeField(null=True, blank=True)
    min_gap_seconds = models.PositiveBigIntegerField(null=True, blank=True)
    zone_data = models.CharField(max_length=20, blank=True)
    look_failures = models.PositiveSmallIntegerField(default=0)
    look_error = models.CharField(max_length=1000, blank=True)

    last_run = models.ForeignKey("Run", null=True, on_delete=models.SET_NULL, related_name="+")
    succeeded_count = models.PositiveIntegerField(default=0)
    reached_count = models.PositiveIntegerField(default=0, help_text="Scheduled runs that count for max_runs.")
    failure_streak = models.PositiveIntegerField(default=0)
    balance_skip_streak = models.PositiveIntegerField(default=0)
    streak_through = models.DateTimeField(null=True, help_text="Newest occurrence that has settled (R10).")
    counters_as_of = models.DateTimeField(null=True)
    recent_costs = models.JSONField(default=list, editable=False, help_text="Of the last five runs that cost anything.")

    class Meta:
        indexes = [
            models.Index(fields=["next_run_at"], condition=Q(next_run_at__isnull=False), name="schedule_due"),
            models.Index(fields=["owner", "id"], name="schedule_owner"),
            models.Index(
                fields=["id"],
                condition=Q(
                    enabled=True,
                    blocked_reason="",
                    completed_at__isnull=True,
                    deleting_at__isnull=True,
                    next_run_at__isnull=True,
                ),
                name="schedule_unarmed",
            ),
            models.Index(fields=["id"], condition=Q(deleting_at__isnull=False), name="schedule_deleting"),
            models.Index(fields=["blocked_reason"], condition=~Q(blocked_reason=""), name="schedule_blocked"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(next_run_at__isnull=True)
                | Q(enabled=True, blocked_reason="", completed_at__isnull=True, deleting_at__isnull=True),
                name="schedule_armed_only_when_on",
            ),
            models.CheckConstraint(
                condition=Q(overlap_policy__in=[o.value for o in Overlap]), name="schedule_overlap_known"
            ),
            models.CheckConstraint(
                condition=Q(misfire_policy__in=[m.value for m in Misfire]), name="schedule_misfire_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name or "Deleted schedule"

    @property
    def is_on(self) -> bool:
        """Return whether it is enabled and neither blocked, completed nor being deleted."""
        return self.enabled and not self.blocked_reason and self.completed_at is None and self.deleting_at is None


class Run(models.Model):
    """The ledger row of one occurrence, or of one manual, API or trial run; and its durable trigger."""

    public_id = models.CharField(max_length=40, unique=True, default=_run_id, editable=False)
    schedule = models.ForeignKey(Schedule, null=True, on_delete=models.CASCADE, related_name="runs")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs")
    kind = models.CharField(max_length=10)
    name = models.CharField(max_length=4000, blank=True, help_text="The schedule's name when it was opened.")
    scheduled_for = models.DateTimeField()
    missed_until = models.DateTimeField(null=True)
    missed_count = models.PositiveIntegerField(null=True)
    status = models.CharField(max_length=16, default=RunStatus.QUEUED)
    reason = models.CharField(max_length=40, blank=True)
    reason_params = models.JSONField(default=dict)
    prompt = models.TextField()
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    revision = models.PositiveIntegerField(default=1)
    overlap_policy = models.CharField(max_length=10, default=Overlap.SKIP)
    project = models.ForeignKey(ChatProject, null=True, on_delete=models.PROTECT)
    project_recorded = models.BooleanField(default=True)
    turn = models.OneToOneField(Turn, null=True, on_delete=models.SET_NULL, related_name="run")
    conversation = models.ForeignKey(Conversation, null=True, on_delete=models.SET_NULL, related_name="runs")
    due_at = models.DateTimeField()
    opened_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    shifted = models.BooleanField(default=False)
    late = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True)
    error_text = models.CharField(max_length=1000, blank=True)
    duration_seconds = models.FloatField(null=True)
    idempotency_key = models.CharField(max_length=180)
    inputs = models.JSONField(default=dict, help_text="What a fire gave, in the prompt as {{inputs.name}}.")
    fired_with = models.CharField(max_length=40, blank=True, help_text="The token that fired it.")
    request_digest = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    again_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    notified = models.CharField(max_length=8, default="none")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["schedule", "scheduled_for"],
                condition=Q(kind=RunKind.SCHEDULED),
                name="run_one_per_occurrence",
            ),
            models.UniqueConstraint(fields=["owner", "idempotency_key"], name="run_one_per_key"),
            models.UniqueConstraint(
                fields=["schedule"],
                condition=Q(status=RunStatus.RUNNING, schedule__isnull=False) & ~Q(overlap_policy=Overlap.ALLOW),
                name="run_one_running_per_schedule",
            ),
            models.CheckConstraint(
                condition=Q(status__in=TERMINAL, settled_at__isnull=False)
                | Q(~Q(status__in=TERMINAL), settled_at__isnull=True),
                name="run_settled_when_terminal",
            ),
            models.CheckConstraint(
                condition=Q(missed_until__isnull=True) | Q(missed_until__gte=F("scheduled_for")),
                name="run_window_ends_after_start",
            ),
            models.CheckConstraint(condition=Q(status__in=[s.value for s in RunStatus]), name="run_status_known"),
            models.CheckConstraint(condition=Q(kind__in=[k.value for k in RunKind]), name="run_kind_known"),
        ]
        indexes = [
            models.Index(fields=["owner", "-scheduled_for", "-id"], name="run_owner_newest"),
            models.Index(fields=["schedule", "-scheduled_for", "-id"], name="run_schedule_newest"),
            models.Index(fields=["schedule"], condition=Q(settled_at__isnull=True), name="run_open"),
            models.Index(
                fields=["owner", "scheduled_for"], condition=Q(settled_at__isnull=True), name="run_open_of_owner"
            ),
            models.Index(fields=["-scheduled_for", "-id"], name="run_newest"),
            models.Index(
                fields=["id"],
                condition=Q(missed_until__isnull=False, missed_count__isnull=True),
                name="run_window_uncounted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.scheduled_for:%Y-%m-%d %H:%M:%SZ}"
