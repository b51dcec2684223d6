"""Taking a project policy away: from then on its scope inherits."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from core.audit import REMOVED, noted
from projects.models import ProjectPolicy


def policy_forget(*, row: ProjectPolicy, actor: User | None = None, now: datetime) -> None:
    """Remove requirement and pin of one scope. Doing it twice changes nothing."""
    with transaction.atomic():
        if ProjectPolicy.objects.filter(pk=row.pk).delete()[0]:
            noted(actor, row, "", act=REMOVED, now=now)
