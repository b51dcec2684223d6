"""Limits as operators set them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group

from accounts.models import LimitSet
from accounts.services.limits import limit_parse, limits_set
from core.errors import Refusal
from tests.factories import NOW


def test_each_scope_has_one_row_and_other_names_stay(alice: Any):
    group = Group.objects.get(name="Members")
    for scope in ({"scope": "deployment"}, {"scope": "group", "group": group}, {"scope": "user", "user": alice}):
        limits_set(**scope, values={"max_schedules": 3}, now=NOW)  # type: ignore[arg-type]
        limits_set(**scope, values={"daily_runs": 9}, now=NOW)  # type: ignore[arg-type]
    assert list(LimitSet.objects.values_list("max_schedules", "daily_runs")) == [(3, 9)] * 3


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"colour": 1}, "limit_unknown"),
        ({"max_schedules": -1}, "out_of_range"),
        ({"max_failures": 0}, "out_of_range"),
        ({"max_schedules": 2**31}, "out_of_range"),
        ({"max_schedules": True}, "wrong_type"),
        ({"max_schedules": "3"}, "wrong_type"),
        ({"enabled": 1}, "wrong_type"),
        ({"monthly_spend": 5}, "wrong_type"),
        ({"monthly_spend": Decimal("1.001")}, "wrong_type"),
        ({"monthly_spend": Decimal("NaN")}, "wrong_type"),
        ({"monthly_spend": Decimal("-1")}, "out_of_range"),
        ({"monthly_spend": Decimal("1e30")}, "out_of_range"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_nothing_is_set(values: dict[str, Any], code: str, db: None):
    with pytest.raises(Refusal) as caught:
        limits_set(scope="deployment", values={"daily_runs": 5} | values, now=NOW)
    assert caught.value.code == code
    assert not LimitSet.objects.exists()


def test_a_set_says_when_it_was_changed_last(alice: Any):
    """R9: the instant is the caller's, not the wall clock's."""
    row = limits_set(scope="user", user=alice, values={"max_schedules": 3}, now=NOW)
    assert LimitSet.objects.get().updated_at == row.updated_at == NOW
    limits_set(scope="user", user=alice, values={"max_schedules": 4}, now=NOW + timedelta(hours=1))
    assert LimitSet.objects.get().updated_at == NOW + timedelta(hours=1)


def test_the_deployments_capacity_is_no_limit_of_one_person(alice: Any):
    with pytest.raises(Refusal) as caught:
        limits_set(scope="user", user=alice, values={"max_concurrent_turns": 5}, now=NOW)
    assert caught.value.code == "limit_unknown"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("max_schedules", "20", 20), ("min_interval_seconds", " 60 ", 60), ("enabled", "off", False), ("enabled", "TRUE", True),
     ("monthly_spend", "12.50", Decimal("12.50")), ("daily_runs", "inherit", None)],
)  # fmt: skip
def test_text_is_read_plainly(name: str, text: str, value: Any):
    assert limit_parse(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [("max_schedules", "5m"), ("max_schedules", "-5"), ("max_schedules", "٣"), ("max_schedules", ""), ("enabled", "maybe"),
     ("monthly_spend", "lots"), ("max_schedules", "1e3"), ("max_schedules", "9" * 20)],
)  # fmt: skip
def test_other_text_is_refused(name: str, text: str):
    with pytest.raises(Refusal) as caught:
        limit_parse(name, text)
    assert caught.value.code == "wrong_type"
