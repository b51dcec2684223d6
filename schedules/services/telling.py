"""Tells owners of blocks and outcomes; a night offline is one notice, not one per schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from django.utils.translation import gettext as _

from accounts.services.notices import notice_add, operators_tell
from chats.models import Message
from core.errors import sentence
from schedules.domain.choices import DEFAULT_NOTIFY
from schedules.domain.states import RunStatus
from schedules.models import Run, Schedule

MOST_NAMED = 5
INTERRUPTED_IN_A_ROW = 3
_FAILURES = {
    RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.INTERRUPTED, RunStatus.EXPIRED, RunStatus.REFUSED,
    RunStatus.MISSED,
}  # fmt: skip


def tell_blocked(schedule: Schedule, *, now: datetime) -> None:
    """Tell the owner once that the schedule is blocked and why (R15)."""
    notice_add(
        user_id=schedule.owner_id,
        code="schedule_blocked",
        params={"name": schedule.name, "why": sentence(schedule.blocked_reason, schedule.blocked_params)},
        subject=schedule.public_id,
        dedupe_key=f"blocked:{schedule.pk}:{now.timestamp():.3f}",
        now=now,
    )


def tell_settled(*, schedule: Schedule, run: Run, now: datetime) -> None:
    """Put the outcome into the outbox when the schedule wants to be told of it; one per run, not per attempt.

    Of a budget that is used up the owner is told once a month, whatever the schedule wants to be told of.
    """
    if run.reason == "budget":
        tell_budget(schedule=schedule, run=run, now=now)
    elif wants_to_know(schedule, run):
        notice_add(
            user_id=run.owner_id,
            code="run_settled",
            params={"name": run.name, "outcome": run.status, "reason": run.reason, "why": run.reason_params},
            subject=run.public_id,
            dedupe_key=f"settled:{run.public_id}",
            now=now,
        )


def tell_budget(*, schedule: Schedule, run: Run, now: datetime) -> None:
    """Tell the owner once a month that a budget is used up: the schedule's, or their own, which holds all of them."""
    of_schedule = run.reason_params.get("of") == "schedule"
    whose = f"s{schedule.pk}" if of_schedule else f"o{run.owner_id}"
    name = run.name if of_schedule else _("All schedules")
    notice_add(
        user_id=run.owner_id,
        code="budget_reached",
        params={"name": name, **run.reason_params},
        subject=schedule.public_id if of_schedule else "",
        dedupe_key=f"budget:{whose}:{run.reason_params.get('month', '')}",
        now=now,
    )


def tell_interrupted(*, schedule: Schedule, run: Run, now: datetime) -> None:
    """Tell owner and operators once when three runs of one wording were interrupted in a row: it may kill workers.

    Whatever the owner asked to be told of: an interruption changes no streak and blocks nothing (R12).
    """
    if run.status != RunStatus.INTERRUPTED or run.revision != schedule.revision:
        return
    same = Run.objects.filter(schedule=schedule.pk, revision=run.revision, started_at__isnull=False)
    other = same.filter(settled_at__isnull=False).exclude(status=RunStatus.INTERRUPTED)
    last = other.order_by("-scheduled_for", "-pk").first()
    row = same.filter(status=RunStatus.INTERRUPTED)
    count = (row.filter(scheduled_for__gt=last.scheduled_for) if last else row).count()
    if count < INTERRUPTED_IN_A_ROW:
        return
    key = f"interrupted:{schedule.pk}:{schedule.revision}:{last.pk if last else 0}"
    params = {"name": run.name, "count": count}
    notice_add(
        user_id=schedule.owner_id,
        code="runs_interrupted",
        params=params,
        subject=schedule.public_id,
        dedupe_key=key,
        now=now,
    )
    operators_tell(code="runs_interrupted", params=params, subject=schedule.public_id, dedupe_key=key, now=now)


def wants_to_know(schedule: Schedule, run: Run) -> bool:
    """Return whether the owner asked to be told of outcomes like this one.

    With `changed` that is a failure, and an answer that differs from the one before; the first one differs.
    """
    on = schedule.notify.get("on", DEFAULT_NOTIFY["on"])
    if on == "never":
        return False
    if on == "always" or run.status in _FAILURES:
        return True
    return on == "changed" and run.status == RunStatus.SUCCEEDED and _answer_changed(run)


def _answer_changed(run: Run) -> bool:
    """Return whether the run's answer has another text than that of the last run before it that succeeded."""
    before = Run.objects.filter(
        schedule=run.schedule_id, status=RunStatus.SUCCEEDED, scheduled_for__lt=run.scheduled_for
    ).order_by("-scheduled_for", "-pk")
    last = before.first()
    return last is None or _answer(last) != _answer(run)


def _answer(run: Run) -> str | None:
    """Return the answer's text without the space around it; None when its conversation is gone."""
    answers = Message.objects.filter(turn=run.turn_id, role="assistant").order_by("-pk")
    text = answers.values_list("text", flat=True).first() if run.turn_id is not None else None
    return text.strip() if text is not None else None


def tell_ended(ended: Iterable[tuple[Schedule, Run]], *, now: datetime) -> None:
    """Put what one look settled into the outbox; what one owner missed at it is told together (B45)."""
    missed: dict[int, list[tuple[Schedule, Run]]] = defaultdict(list)
    for schedule, run in ended:
        if run.status == RunStatus.MISSED:
            missed[schedule.owner_id].append((schedule, run))
        else:
            tell_settled(schedule=schedule, run=run, now=now)
    for owner_id, pairs in missed.items():
        _tell_missed(owner_id, [pair for pair in pairs if wants_to_know(*pair)], now)


def _tell_missed(owner_id: int, pairs: list[tuple[Schedule, Run]], now: datetime) -> None:
    names = {schedule.pk: run.name for schedule, run in pairs}
    if len(names) < 2:
        for schedule, run in pairs[:1]:
            tell_settled(schedule=schedule, run=run, now=now)
        return
    shown = ", ".join(list(names.values())[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")
    notice_add(
        user_id=owner_id,
        code="runs_missed",
        params={"count": len(names), "names": shown},
        subject="",
        dedupe_key=f"missed:{owner_id}:{now.isoformat()}",
        now=now,
    )
