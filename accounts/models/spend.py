"""What was used and what it cost: two ledgers that deleting conversations, schedules or runs does not touch."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from accounts.models.audit import AppendOnly
from accounts.models.people import User


class AddedOnly(models.Model):
    """A row that is added once and never changed; erasing a person goes by the table, not by the row."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the row. Raises AppendOnly for one that is stored already."""
        if not self._state.adding:
            raise AppendOnly(f"{self._meta.verbose_name} rows are never changed")
        super().save(*args, **{**kwargs, "force_insert": True})


class UsageEntry(AddedOnly):
    """What one attempt of a turn used. `day` is that of the owner's zone when it ended.

    Schedule, agent and model are public ids and no foreign keys: the entry outlives what it names. Without an owner
    it is what an erased account leaves of itself when the operator keeps figures.
    """

    owner = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, db_index=False, related_name="usage")
    day = models.DateField()
    key = models.CharField(max_length=80, unique=True, null=True, help_text="Turn and lease: billed once.")
    turn = models.CharField(max_length=40, blank=True)
    schedule = models.CharField(max_length=40, blank=True)
    agent = models.CharField(max_length=40, blank=True)
    model = models.CharField(max_length=40, blank=True)
    kind = models.CharField(max_length=10, help_text="What started the turn.")
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0, help_text="Part of the input.")
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, null=True, help_text="Empty where no price was known.")
    estimated = models.BooleanField(default=False, help_text="Counted by its text: the provider had reported nothing.")
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "usage"
        indexes = [
            models.Index(fields=["owner", "day", "schedule", "cost"], name="usage_owner_day"),
            models.Index(fields=["model", "-id"], name="usage_model"),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.kind}"


class CreditEntry(AddedOnly):
    """A grant or a charge of one person; the balance is their sum. Whoever has an entry is bound by it."""

    GRANT, CHARGE = "grant", "charge"

    owner = models.ForeignKey(User, on_delete=models.CASCADE, db_index=False, related_name="credit_entries")
    key = models.CharField(max_length=80, unique=True, help_text="Once: of the grant, or the turn and its lease.")
    kind = models.CharField(max_length=6, choices=[(GRANT, "grant"), (CHARGE, "charge")])
    amount = models.DecimalField(max_digits=14, decimal_places=6, help_text="Above zero adds, below zero takes.")
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "credit entry"
        verbose_name_plural = "credit entries"
        indexes = [models.Index(fields=["owner", "amount"], name="credit_owner")]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=["grant", "charge"]), name="credit_kind_known"),
            models.CheckConstraint(condition=~Q(amount=0), name="credit_amount_not_zero"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}"
