"""The global stop: one switch with a reason, for every process (gate row 1)."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import GlobalStop, User
from accounts.services.audit import audit_changed
from core.errors import Refusal
from core.text import graphemes, tidy

MOST_REASON = 300


def global_stop_set(*, on: bool, reason: str = "", actor: User | None = None, now: datetime) -> GlobalStop:
    """Switch the stop; switching it to what it is already changes only the reason.

    What is due stays due, what is queued stays queued (the gate waits). Raises Refusal `too_long` at `reason`.
    """
    reason = tidy(reason)
    if len(reason) > MOST_REASON:
        raise Refusal.at("reason", "too_long", actual=graphemes(reason), most=MOST_REASON)
    with transaction.atomic():
        return _switched(on, reason, actor, now)


def _switched(on: bool, reason: str, actor: User | None, now: datetime) -> GlobalStop:
    row, _ = GlobalStop.objects.get_or_create(pk=1)
    before = {"on": row.on, "reason": row.reason}
    since = row.changed_at if row.on == on else now  # putting off what is off ends no wait (R38)
    row.on, row.reason, row.changed_at, row.changed_by = on, reason if on else "", since, actor
    row.began_at = since if on else row.began_at
    row.save(update_fields=["on", "reason", "changed_at", "began_at", "changed_by"])
    after = {"on": row.on, "reason": row.reason}
    audit_changed(act="globalstop.changed", actor=actor, subject=row, before=before, after=after, now=now)
    return row
