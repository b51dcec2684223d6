"""`manage.py set_limits` (wire.md, Commands)."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command

from accounts.models import LimitSet
from accounts.selectors.limits import limits_of
from projects.models import ProjectPolicy
from projects.selectors import policy_of
from tests.factories import make_project


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("set_limits", *arguments, stdout=out)
    return out.getvalue()


def test_limits_requirement_and_pin_are_set_by_the_names_of_the_api(alice: Any):
    project = make_project(owner=alice, name="Inbox", name_key="inbox")
    out = run(
        "max_schedules=20", "min_interval_seconds=60", "max_concurrent_turns=500", "max_concurrent=7", "enabled=on",
        "monthly_spend=12.50", "require_project=on", "pinned_project=Inbox",
    )  # fmt: skip
    assert "max_schedules = 20" in out
    limits, policy = limits_of(alice), policy_of(alice)
    assert (limits.max_schedules, limits.min_interval_seconds, limits.max_concurrent_turns) == (20, 60, 500)
    assert (limits.max_concurrent, limits.monthly_spend) == (7, Decimal("12.50"))
    assert (policy.require_project, policy.pin_id) == (True, project.pk)


def test_a_group_and_a_user_are_named(alice: Any, bob: Any):
    legal = Group.objects.create(name="Legal")
    alice.groups.add(legal)
    run("--group", "Legal", "max_schedules=3")
    run("--user", "BOB@example.com", "max_schedules=4")
    assert (limits_of(alice).max_schedules, limits_of(bob).max_schedules) == (3, 4)


def test_inherit_clears(alice: Any):
    run("max_schedules=3", "require_project=on", "pinned_project=Inbox")
    run("max_schedules=inherit", "require_project=inherit", "pinned_project=inherit")
    assert limits_of(alice).max_schedules == 10
    assert not policy_of(alice).required


def test_an_empty_pin_says_no_pin_here(alice: Any):
    run("pinned_project=Inbox")
    run("--user", "alice@example.com", "pinned_project=")
    assert not policy_of(alice).pinned


def test_everything_wrong_is_said_at_once_and_nothing_is_set(alice: Any):
    with pytest.raises(CommandError) as caught:
        run("max_schedules=5m", "bogus=1", "require_project=perhaps", "daily_runs=3", "word")
    said = str(caught.value)
    for name in ("max_schedules", "bogus", "require_project", "word"):
        assert f"{name}: " in said
    assert not LimitSet.objects.exists()


def test_a_refused_pin_takes_back_the_limits_of_the_same_line(alice: Any):
    with pytest.raises(CommandError, match="pinned_project"):
        run("--user", "alice@example.com", "max_schedules=3", "pinned_project=Nowhere")
    assert not LimitSet.objects.exists()
    assert not ProjectPolicy.objects.exists()


@pytest.mark.parametrize("scope", [("--user", "nobody@example.com"), ("--group", "Nobody")])
def test_somebody_unknown_is_said(scope: tuple[str, str], db: None):
    with pytest.raises(CommandError, match="There is no"):
        run(*scope, "max_schedules=3")


def test_the_missing_project_is_made_when_asked(alice: Any):
    run("--create-missing", "pinned_project=Inbox")
    assert policy_of(alice).pin_id is not None
