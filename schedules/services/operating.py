"""What operators do to schedules of others: block, and let go again. Owners cannot lift it (`by_operator`)."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from accounts.selectors.deletions import owner_free
from schedules import lifecycle
from schedules.models import Schedule
from schedules.services.arming import schedule_arm, schedule_close_due
from schedules.services.guards import ask_gate, owner_locked, schedule_locked
from schedules.services.replacing import turns_hold
from schedules.services.switching import schedule_resume
from schedules.services.telling import tell_blocked

BY_OPERATOR = "by_operator"


def schedule_block(*, schedule: Schedule, actor: User, now: datetime) -> bool:
    """Block a schedule until an operator lets it go; return False when an operator had blocked it before.

    What was due gets its row first (C12), what never started is cancelled, a running run finishes, the owner is told.
    A block for another reason is replaced, so that mending that reason does not lift it. Raises Refusal `not_found`.
    """
    with transaction.atomic():
        owner_locked(schedule.owner_id)
        turns_hold(schedule)
        row = schedule_locked(schedule.pk)
        if row.blocked_reason == BY_OPERATOR:
            return False
        if row.is_on:
            schedule_close_due(row, now=now, reason="blocked")
        if row.blocked_reason:
            lifecycle.unblock(row, now=now)
        lifecycle.block(row, reason=BY_OPERATOR, params={}, now=now)
        lifecycle.cancel_unstarted(row, reason="blocked", now=now)
        tell_blocked(row, now=now)
    return True


def schedule_release(*, schedule: Schedule, actor: User, now: datetime) -> bool:
    """Lift an operator's block, or switch on for its owner what is paused or blocked; False when it was on already.

    What an operator blocked is armed from now on (C12), or stays paused when its owner had paused it. Raises Refusal
    like `schedule_resume` when the gate says no.
    """
    with transaction.atomic():
        owner_free(schedule.owner_id)
        row = schedule_locked(schedule.pk)
        if row.is_on:
            return False
        if row.blocked_reason != BY_OPERATOR:
            schedule_resume(schedule=row, now=now)
            return True
        lifecycle.unblock(row, now=now)
        if row.is_on:
            ask_gate(row, now=now)
            schedule_arm(row, now=now)
    return True
