"""A daily quota binds scheduled runs, runs by hand, and starts of one batch; midnight is the owner's."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import LimitSet
from core.errors import Refusal
from schedules.models import Run
from schedules.selectors.facts import run_facts
from schedules.services.firing import fire_due
from schedules.services.runs import run_now
from tests.factories import NOW, make_turn

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def two_a_day(db):
    LimitSet.objects.create(updated_at=NOW, scope="deployment", daily_runs=2)


def started(make_run, schedule, at):
    run = make_run(schedule=schedule, scheduled_for=at, started_at=at)
    run.turn = make_turn(
        owner=schedule.owner, agent=schedule.agent, origin="schedule", status="completed", settled_at=at, leased_at=at,
        started_at=at, first_dispatched_at=at,
    )  # fmt: skip
    run.save(update_fields=["turn"])
    return run


def test_the_third_run_of_a_day_is_skipped_with_its_reason_and_blocks_nothing(
    alice, make_schedule, make_run, now, two_a_day
):
    """B82; gate row 14: `skipped: quota`."""
    schedule = make_schedule(owner=alice, now=now - HOUR, armed=True, cadence={"kind": "daily", "time": "08:00"})
    for hours in (1, 2):
        started(make_run, schedule, now - hours * HOUR)
    fire_due(now=now)
    run = Run.objects.get(scheduled_for=now)
    assert (run.status, run.reason, run.reason_params) == ("skipped", "quota", {"most": 2})
    schedule.refresh_from_db()
    assert schedule.is_on


def test_yesterdays_runs_of_the_owners_zone_do_not_count(alice, make_schedule, make_run, now, two_a_day):
    """Days are those of the owner's zone: 08:00 UTC is 20:00 in Auckland, whose day began at 12:00 UTC."""
    alice.zone = "Pacific/Auckland"
    alice.save(update_fields=["zone"])
    schedule = make_schedule(owner=alice, now=now - HOUR, armed=True, cadence={"kind": "daily", "time": "08:00"})
    for hours in (21, 22):
        started(make_run, schedule, now - hours * HOUR)
    fire_due(now=now)
    assert Run.objects.get(scheduled_for=now).status == "queued"


def test_a_run_by_hand_is_bound_alike(alice, make_schedule, make_run, now, two_a_day):
    schedule = make_schedule(owner=alice)
    for hours in (1, 2):
        started(make_run, schedule, now - hours * HOUR)
    with pytest.raises(Refusal) as refused:
        run_now(schedule=schedule, actor=alice, now=now)
    assert (refused.value.code, refused.value.status) == ("quota", 409)


def test_starts_of_one_batch_count_for_each_other(alice, make_schedule, make_run, now, two_a_day):
    schedule = make_schedule(owner=alice, overlap_policy="allow")
    runs = [make_run(schedule=schedule, status="queued", scheduled_for=now - n * HOUR) for n in range(3)]
    facts = run_facts(runs, now=now)
    assert [facts[run.pk].over for run in runs] == ["", "", "quota"]
