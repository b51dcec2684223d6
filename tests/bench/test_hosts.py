"""The judge of the bench of several hosts: a figure counts only when provider, ledger and plan agree."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bench.due import agree_each
from bench.hosts import by_tenth
from schedules.models import Run
from tests.factories import NOW, make_agent, make_run

SECOND = timedelta(seconds=1)
PLAN = {"first": NOW, "second": NOW + SECOND}


def asked(*prompts: str, late: float = 0.5) -> Any:
    """Return what stands in for a deployment whose provider was asked for `prompts`, each `late` seconds late."""
    log = [{"prompt": prompt, "at": PLAN.get(prompt, NOW).timestamp() + late} for prompt in prompts]
    return SimpleNamespace(requests=lambda: log)


@pytest.fixture
def agent(db):
    return make_agent()


@pytest.fixture
def ledger(alice, agent):
    """One success of each prompt of the plan, at its instant."""
    return [make_run(owner=alice, agent=agent, prompt=prompt, scheduled_for=at) for prompt, at in PLAN.items()]


@pytest.mark.usefixtures("ledger")
def test_what_was_asked_for_once_and_succeeded_at_its_instant_has_a_delay():
    assert agree_each(asked("first", "second"), PLAN) == pytest.approx({"first": 0.5, "second": 0.5})


@pytest.mark.usefixtures("ledger")
@pytest.mark.parametrize("prompts", [["first"], ["first", "second", "second"], ["first", "third"]])
def test_a_prompt_too_few_too_many_or_of_nobody_makes_the_figures_void(prompts):
    with pytest.raises(SystemExit, match="void"):
        agree_each(asked(*prompts), PLAN)


@pytest.mark.parametrize(
    "change",
    [{"scheduled_for": NOW + 3 * SECOND}, {"prompt": "first"}, {"status": "interrupted"}],
    ids=["other instant", "other prompt", "no success"],
)
def test_a_row_that_is_not_the_planned_one_makes_the_figures_void(ledger, change):
    Run.objects.filter(pk=ledger[1].pk).update(**change)
    with pytest.raises(SystemExit, match="void"):
        agree_each(asked("first", "second"), PLAN)


def test_a_second_row_of_one_occurrence_makes_the_figures_void(ledger, alice, agent):
    make_run(owner=alice, agent=agent, prompt="first", scheduled_for=NOW)
    with pytest.raises(SystemExit, match="void"):
        agree_each(asked("first", "second"), PLAN)


def test_the_longest_delay_is_told_for_each_tenth_of_the_due_time():
    """A delay that grows from tenth to tenth is work that piles up; one at the start is a start that is slow."""
    plan = {f"{n}": NOW + timedelta(seconds=n % 20) for n in range(40)}
    delays = {prompt: float(prompt == "39") + int(prompt) % 20 / 10 for prompt in plan}
    assert by_tenth(plan, delays) == [0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7, 2.9]
