"""The deletion of an account: an overlay over everything that a person has, until it commits."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.domain.deletion import ENDED, DeletionState
from accounts.models.people import User
from core.ids import new_id


def _deletion_token() -> str:
    return new_id("del")


class DeletionRequest(models.Model):
    """One request to delete an account; open ones are the fence that everything of the person stops at.

    Nothing else is changed by it before the commit point, so that cancelling restores exactly what was (A2).
    `progress` counts erased rows by table and says what is waited for; `error` names what failed last, without any
    text of the person. The row stays when the person is gone, and then says of nobody that something was erased.
    """

    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="deletions")
    token = models.CharField(max_length=40, unique=True, default=_deletion_token, editable=False)
    state = models.CharField(max_length=10, default=DeletionState.REQUESTED)
    requested_at = models.DateTimeField()
    not_before = models.DateTimeField(help_text="End of the grace: not erased earlier.")
    keep_usage = models.BooleanField(default=False, help_text="Figures of usage stay, without the person.")
    progress = models.JSONField(default=dict)
    error = models.CharField(max_length=200, blank=True)
    examined_at = models.DateTimeField(null=True, help_text="When the sweep last looked at it.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[s.value for s in DeletionState]), name="deletionrequest_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=ENDED, ended_at__isnull=False) | Q(~Q(state__in=ENDED), ended_at__isnull=True),
                name="deletionrequest_ended_when_over",
            ),
            models.UniqueConstraint(
                fields=["user"], condition=~Q(state__in=ENDED), name="deletionrequest_one_open_per_user"
            ),
        ]
        indexes = [models.Index(fields=["examined_at"], condition=~Q(state__in=ENDED), name="deletionrequest_open")]

    def __str__(self) -> str:
        return self.token
