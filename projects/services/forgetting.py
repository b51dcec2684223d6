"""Taking a project policy away: from then on its scope inherits."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from accounts.services.audit import audit
from projects.models import ProjectPolicy
from projects.services.policies import policy_told


def policy_forget(*, row: ProjectPolicy, actor: User | None = None, now: datetime) -> None:
    """Remove requirement and pin of one scope. Doing it twice changes nothing."""
    with transaction.atomic():
        held = ProjectPolicy.objects.filter(pk=row.pk).first()
        if held is not None:
            audit(act="projectpolicy.removed", actor=actor, subject=held, before=policy_told(held), now=now)
            held.delete()
