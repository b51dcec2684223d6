"""Acts that are done once, and what people are to be told."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models.people import User


class IdempotencyKey(models.Model):
    """One act per key: its digest and what it made; kept for 24 h after the made thing is erased."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE)
    act = models.CharField(max_length=40)
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    made = models.CharField(max_length=40, blank=True, help_text="Public id of what the act made.")
    gone_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "act", "key"], name="idempotency_unique")]
        indexes = [
            models.Index(fields=["gone_at"], condition=Q(gone_at__isnull=False), name="idempotency_gone"),
            models.Index(fields=["made"], condition=Q(gone_at__isnull=True), name="idempotency_made"),
        ]


class Notice(models.Model):
    """Outbox: one row per event to tell a person, written with the event (R3); channels read it later."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notices")
    code = models.CharField(max_length=40)
    params = models.JSONField(default=dict)
    subject = models.CharField(max_length=40, blank=True, help_text="Public id of what it is about.")
    dedupe_key = models.CharField(max_length=120, unique=True)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["user", "-created_at"], name="notice_user_created")]

    def __str__(self) -> str:
        return self.code
