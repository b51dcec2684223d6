"""What operators did, by whom and when: rows of Django's own log, written by the service that does it."""

from __future__ import annotations

from datetime import datetime

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

ADDED, CHANGED, REMOVED = ADDITION, CHANGE, DELETION


def noted(actor: Model | None, row: Model, what: str, *, act: int = CHANGED, now: datetime) -> None:
    """Write that `actor` did `act` to `row`; `what` says it in names and numbers, never in personal text.

    Runs in the caller's transaction: what was not done is not noted. Without an actor (a command) nobody can be named.
    A change of nothing (`what` is empty) is none.
    """
    if actor is None or (act == CHANGED and not what):
        return
    LogEntry.objects.create(
        user_id=actor.pk,
        content_type=ContentType.objects.get_for_model(row),
        object_id=str(row.pk),
        object_repr=str(row)[:200],
        action_flag=act,
        change_message=what,
        action_time=now,
    )
