"""What people are to be told: written with the event, read by channels later (R3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from accounts.models import Notice, User


def notice_add(
    *, user_id: int, code: str, params: Mapping[str, Any], subject: str, dedupe_key: str, now: datetime
) -> None:
    """Add one notice for `user_id`; a second one with the same `dedupe_key` (to 120 characters) changes nothing.

    `subject` is the public id of what it is about. Runs inside the caller's transaction and never fails it for a
    duplicate (R15: told once).
    """
    row = Notice(
        user_id=user_id,
        code=code,
        params=dict(params),
        subject=subject,
        dedupe_key=dedupe_key,
        created_at=now,
    )
    Notice.objects.bulk_create([row], ignore_conflicts=True)


def operators_tell(*, code: str, params: Mapping[str, Any], subject: str, dedupe_key: str, now: datetime) -> None:
    """Add one notice for every active operator, as `notice_add` does; each has a `dedupe_key` of its own."""
    operators = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
    for user_id in operators.values_list("pk", flat=True):
        notice_add(
            user_id=user_id,
            code=code,
            params=params,
            subject=subject,
            dedupe_key=f"{dedupe_key}:{user_id}",
            now=now,
        )


def notices_forget(*, subjects: Collection[str]) -> int:
    """Remove what anybody was told of these subjects, who leave with all that is theirs; return how many (A6)."""
    named = [subject for subject in subjects if subject]
    return Notice.objects.filter(subject__in=named).delete()[0] if named else 0
