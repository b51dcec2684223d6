"""Occurrences that found no credit as they fell due: they count in a row, and enough of them block (R12, R13)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from accounts.selectors.limits import limits_for
from core.errors import sentence
from schedules import lifecycle
from schedules.domain.streaks import block_reason, without_credit
from schedules.services.origin import counters_of
from schedules.services.rows import Plan
from schedules.services.telling import tell_blocked


def skips_count(plans: Sequence[Plan], *, now: datetime) -> None:
    """Count the rows of `plans` that were opened as `skipped: balance`; the caller holds the schedules.

    Nothing is read or written when there is none.
    """
    hit = {plan.schedule.pk: plan for plan in plans if any(run.reason == "balance" for run in plan.runs)}
    limits = limits_for({plan.schedule.owner_id for plan in hit.values()}) if hit else {}
    for plan in hit.values():
        schedule = plan.schedule
        schedule.refresh_from_db()  # what was replaced at this look has counted too
        after = counters_of(schedule)
        for run in plan.runs:
            after = without_credit(after, run.scheduled_for) if run.reason == "balance" else after
        lifecycle.write_counters([(schedule, after)], now=now)
        most = limits[schedule.owner_id]
        why = block_reason(after, max_failures=most.max_failures, max_balance_skips=most.max_balance_skips)
        params = {"count": after.balance_skip_streak, "last": sentence("balance")}
        if why == "insufficient_balance" and lifecycle.block(schedule, reason=why, params=params, now=now):
            tell_blocked(schedule, now=now)
