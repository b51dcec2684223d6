"""Limits as they bind people, read in bulk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.conf import settings

from accounts.domain.limits import NAMES, Limits, Row, resolve
from accounts.models import LimitSet, User


def default_limits() -> dict[str, Any]:
    """Return what holds where nobody set anything; concurrency comes from the environment."""
    return {
        "enabled": True,
        "max_schedules": 10,
        "min_interval_seconds": 3600,
        "max_failures": 5,
        "max_balance_skips": 5,
        "max_concurrent": settings.MAX_CONCURRENT_PER_OWNER,
        "max_concurrent_turns": settings.MAX_CONCURRENT_TURNS,
        "daily_runs": None,
        "monthly_spend": None,
    }


def limits_for(user_ids: Collection[int]) -> dict[int, Limits]:
    """Return the limits of every user of `user_ids`, in three queries at most however many there are."""
    ids = list(user_ids)
    if not ids:
        return {}
    deployment, by_group, by_user = _rows(ids)
    groups: dict[int, list[Row]] = defaultdict(list)
    if by_group:
        memberships = User.groups.through.objects.filter(user_id__in=ids, group_id__in=list(by_group))
        for user_id, group_id in memberships.values_list("user_id", "group_id"):
            groups[user_id].append(by_group[group_id])
    defaults = default_limits()
    return {
        user_id: resolve(defaults, deployment=deployment, groups=groups[user_id], user=by_user.get(user_id))
        for user_id in ids
    }


def limits_of(user: User) -> Limits:
    """Return the limits that bind `user`."""
    return limits_for([user.pk])[user.pk]


def deployment_limits() -> Limits:
    """Return the limits of the deployment alone: what binds somebody without groups and rows of their own."""
    row = LimitSet.objects.filter(scope="deployment").values(*NAMES).first()
    return resolve(default_limits(), deployment=row, groups=[], user=None)


def _rows(ids: list[int]) -> tuple[Row | None, dict[int, Row], dict[int, Row]]:
    deployment: Row | None = None
    by_group: dict[int, Row] = {}
    columns = ("scope", "group_id", "user_id", *NAMES)
    for row in LimitSet.objects.exclude(scope="user").values(*columns):
        if row["scope"] == "deployment":
            deployment = row
        else:
            by_group[row["group_id"]] = row
    own = LimitSet.objects.filter(scope="user", user_id__in=ids).values(*columns)
    return deployment, by_group, {row["user_id"]: row for row in own}
