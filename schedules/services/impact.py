"""What a project policy would do to schedules, found by resolving it as if it were stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import Group

from accounts.models import User
from projects.domain.destination import Policy, resolve_destination
from projects.selectors import Planned, policies_for
from projects.services import policy_planned
from schedules.models import Schedule

MOST_SCHEDULES = 50_000
_PART = 5_000


@dataclass(frozen=True)
class Impact:
    """How many schedules that are on would file elsewhere, and how many would be blocked at their next run."""

    redirected: int
    blocked: int
    seen: int
    bounded: bool

    def __bool__(self) -> bool:
        return bool(self.redirected or self.blocked)


def policy_impact(
    *,
    scope: str,
    group: Group | None,
    user: User | None,
    values: Mapping[str, Any],
    create_missing: bool,
) -> Impact:
    """Return what setting the policy would change (projects.md: shown before it is set). Writes nothing.

    Looks at 50,000 schedules at most, those due first. Raises Refusal as `policy_set` does.
    """
    filed, bounded = _filed(scope, group, user)
    owners = sorted({owner for owner, _ in filed})
    planned = policy_planned(scope=scope, group=group, user=user, values=values, create_missing=create_missing)
    before, after = _policies(owners), _policies(owners, planned)
    redirected = blocked = 0
    for (owner, stored), number in filed.items():
        old, was_blocked = _destination(stored, before[owner])
        new, is_blocked = _destination(stored, after[owner])
        blocked += number if is_blocked and not was_blocked else 0
        redirected += number if not is_blocked and new != old else 0
    return Impact(redirected, blocked, sum(filed.values()), bounded)


def _filed(scope: str, group: Group | None, user: User | None) -> tuple[Counter[tuple[int, int | None]], bool]:
    """Return how many schedules that are on each owner of the scope files in which project."""
    rows = Schedule.objects.filter(next_run_at__isnull=False)
    if scope == "user":
        rows = rows.filter(owner=user)
    elif scope == "group":
        rows = rows.filter(owner__groups=group)
    read = list(rows.order_by("next_run_at").values_list("owner_id", "project_id")[: MOST_SCHEDULES + 1])
    return Counter(read[:MOST_SCHEDULES]), len(read) > MOST_SCHEDULES


def _policies(owners: list[int], planned: Planned | None = None) -> dict[int, Policy]:
    return dict(pair for part in _parts(owners) for pair in policies_for(part, planned=planned).items())


def _parts(owners: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(owners), _PART):
        yield owners[start : start + _PART]


def _destination(stored: int | None, policy: Policy) -> tuple[int | None, bool]:
    """Return where a schedule files under `policy`, and whether the gate would refuse it there (rows 9 and 10)."""
    found = resolve_destination(stored, policy)
    nowhere = found.project_id is None
    return found.project_id, nowhere and (policy.required or found.source == "pin")
