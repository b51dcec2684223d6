"""Taking a project policy away: from then on its scope inherits."""

from __future__ import annotations

from datetime import datetime

from accounts.models import User
from projects.models import ProjectPolicy


def policy_forget(*, row: ProjectPolicy, actor: User | None = None, now: datetime) -> None:
    """Remove requirement and pin of one scope. Doing it twice changes nothing."""
    ProjectPolicy.objects.filter(pk=row.pk).delete()
