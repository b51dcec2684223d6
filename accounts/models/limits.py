"""The numbers and switches that bind people."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from accounts.models.people import User


class LimitSet(models.Model):
    """Numbers and switches for the deployment, a group or a user; null inherits, the most specific wins."""

    scope = models.CharField(max_length=10, choices=[(s, s) for s in ("deployment", "group", "user")])
    group = models.OneToOneField(Group, null=True, blank=True, on_delete=models.CASCADE)
    user = models.OneToOneField(User, null=True, blank=True, on_delete=models.CASCADE, related_name="limit_set")
    enabled = models.BooleanField(null=True, blank=True)
    max_schedules = models.PositiveIntegerField(null=True, blank=True)
    min_interval_seconds = models.PositiveIntegerField(null=True, blank=True)
    max_failures = models.PositiveIntegerField(null=True, blank=True)
    max_balance_skips = models.PositiveIntegerField(null=True, blank=True)
    max_concurrent = models.PositiveIntegerField(null=True, blank=True, help_text="Scheduled turns of one owner.")
    max_concurrent_turns = models.PositiveIntegerField(null=True, blank=True, help_text="All turns; deployment only.")
    daily_runs = models.PositiveIntegerField(null=True, blank=True)
    monthly_spend = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    updated_at = models.DateTimeField(editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope"], condition=Q(scope="deployment"), name="limitset_one_deployment"),
            models.CheckConstraint(
                condition=(
                    Q(scope="deployment", group__isnull=True, user__isnull=True)
                    | Q(scope="group", group__isnull=False, user__isnull=True)
                    | Q(scope="user", group__isnull=True, user__isnull=False)
                ),
                name="limitset_scope_matches",
            ),
        ]

    def __str__(self) -> str:
        return f"Limits of the {self.scope}" if self.scope == "deployment" else f"Limits of {self.group or self.user}"


class GlobalStop(models.Model):
    """One row: everything that no person starts is on hold, with the reason shown to all (gate row 1)."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    on = models.BooleanField(default=False)
    reason = models.CharField(max_length=300, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)
    began_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Of the last time it was on.")
    changed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="globalstop_one_row")]
        verbose_name_plural = "global stop"

    def __str__(self) -> str:
        return "On" if self.on else "Off"
