"""Chat projects: folders for conversations; and what operators require of them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from core.ids import new_id


def _project_id() -> str:
    return new_id("prj")


class ChatProject(models.Model):
    """A folder of one owner. A deleted one stays as a content-free tombstone, so that "gone" is never "none"."""

    public_id = models.CharField(max_length=40, unique=True, default=_project_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects")
    name = models.CharField(max_length=1000, help_text="1 to 100 characters as people count them.")
    name_key = models.CharField(max_length=800, help_text="Trimmed, NFC, case-folded: what must be unique.")
    description = models.TextField(blank=True, help_text="To 1,000 characters.")
    colour = models.PositiveSmallIntegerField(default=1)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name_key"], condition=Q(deleted_at__isnull=True), name="project_name_unique"
            ),
            models.CheckConstraint(condition=Q(colour__gte=1, colour__lte=8), name="project_colour_known"),
        ]

    def __str__(self) -> str:
        return self.name or "Deleted project"


class ProjectPolicy(models.Model):
    """Requirement and pin for the deployment, a group or a user; null inherits."""

    scope = models.CharField(max_length=10, choices=[(s, s) for s in ("deployment", "group", "user")])
    group = models.OneToOneField(Group, null=True, blank=True, on_delete=models.CASCADE)
    user = models.OneToOneField(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE)
    require_project = models.BooleanField(null=True, blank=True)
    pinned_name = models.CharField(max_length=1000, null=True, blank=True, help_text="Resolved among each owner's own.")
    pinned_project = models.ForeignKey(ChatProject, null=True, blank=True, on_delete=models.PROTECT)
    updated_at = models.DateTimeField(editable=False)

    class Meta:
        verbose_name_plural = "project policies"
        constraints = [
            models.UniqueConstraint(
                fields=["scope"], condition=Q(scope="deployment"), name="projectpolicy_one_deployment"
            )
        ]

    def __str__(self) -> str:
        return f"Project policy of the {self.scope}"
