"""How limits combine (accounts.md, Permissions and limits; R24)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounts.domain.limits import NAMES, Value, resolve

DEFAULTS: dict[str, Any] = {
    "enabled": True, "max_schedules": 10, "min_interval_seconds": 3600, "max_failures": 5, "max_balance_skips": 5,
    "max_concurrent": 5, "max_concurrent_turns": 100, "daily_runs": None, "monthly_spend": None,
}  # fmt: skip


def limit(name: str, *, deployment: Any = None, groups: tuple[Any, ...] = (), user: Any = None) -> Value:
    limits = resolve(
        DEFAULTS,
        deployment={name: deployment},
        groups=[{name: value} for value in groups],
        user={name: user},
    )
    assert set(limits.values) == set(NAMES)
    return limits[name]


def test_without_any_row_the_defaults_hold():
    limits = resolve(DEFAULTS, deployment=None, groups=[], user=None)
    assert {name: value.value for name, value in limits.values.items()} == DEFAULTS
    assert {value.source for value in limits.values.values()} == {"default"}


def test_the_most_specific_scope_wins_also_to_relax():
    assert limit("max_schedules", deployment=3, groups=(5,), user=20) == Value(20, "user")
    assert limit("max_schedules", deployment=3, groups=(5,)) == Value(5, "group")
    assert limit("max_schedules", deployment=3) == Value(3, "deployment")


@pytest.mark.parametrize(
    ("name", "values", "strictest"),
    [("max_schedules", (5, 2, 9), 2), ("min_interval_seconds", (60, 7200), 7200), ("enabled", (True, False), False),
     ("daily_runs", (4, 1), 1), ("monthly_spend", (Decimal(9), Decimal(3)), Decimal(3))],
)  # fmt: skip
def test_of_several_groups_the_strictest_wins(name: str, values: tuple[Any, ...], strictest: Any):
    assert limit(name, groups=values) == Value(strictest, "group")
    assert limit(name, groups=values[::-1]) == Value(strictest, "group")


def test_a_group_that_says_nothing_has_no_say():
    assert limit("max_schedules", groups=(None, 7)) == Value(7, "group")
    assert limit("max_schedules", deployment=4, groups=(None,)) == Value(4, "deployment")


@pytest.mark.parametrize("name", ["max_concurrent", "monthly_spend"])
def test_concurrency_and_spend_are_narrowed_and_never_widened(name: str):
    """R24"""
    assert limit(name, deployment=10, groups=(50,), user=99) == Value(10, "deployment")
    assert limit(name, deployment=10, groups=(4,), user=99) == Value(4, "group")
    assert limit(name, deployment=10, user=2) == Value(2, "user")


def test_no_limit_can_be_narrowed_to_one():
    assert limit("monthly_spend", user=Decimal(5)) == Value(Decimal(5), "user")


def test_the_deployment_row_moves_the_environments_capacity_either_way():
    assert limit("max_concurrent", deployment=500) == Value(500, "deployment")
    assert limit("max_concurrent_turns", deployment=1000) == Value(1000, "deployment")


def test_capacity_of_the_deployment_is_read_from_the_deployment_alone():
    assert limit("max_concurrent_turns", groups=(1,), user=1) == Value(100, "default")


def test_an_off_switch_is_never_an_opt_in_and_a_pilot_is_possible():
    """accounts.md; details.md: `enabled` may be on for a group or user while the deployment is off."""
    assert limit("enabled", deployment=True, user=False) == Value(False, "user")
    assert limit("enabled", deployment=False, groups=(True,)) == Value(True, "group")


def test_zero_is_a_value_and_not_the_absence_of_one():
    assert limit("max_schedules", deployment=5, user=0) == Value(0, "user")
