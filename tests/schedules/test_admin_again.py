"""A settled run once more, as it was."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.services.stops import global_stop_set
from core.errors import Refusal
from schedules.models import Run, Schedule
from schedules.services.again import run_again


def test_the_snapshot_runs_again_and_is_linked(
    alice: Any, olivia: Any, make_schedule: Any, make_run: Any, make_agent: Any, make_project: Any, now: Any
) -> None:
    """interfaces.md, Admin: a settled run's snapshot as a new manual run, linked."""
    project = make_project(owner=alice)
    schedule = make_schedule(owner=alice, project=project, prompt="As it was.", armed=True)
    run = make_run(schedule=schedule, status="failed")
    Schedule.objects.filter(pk=schedule.pk).update(prompt="Edited.", project=None, agent=make_agent(), revision=2)
    before = Schedule.objects.values("next_run_at", "planned_through", "reached_count").get()
    again = run_again(run=run, actor=olivia, now=now)
    again.refresh_from_db()
    assert (again.prompt, again.project, again.agent, again.revision) == ("As it was.", project, run.agent, 1)
    assert (again.kind, again.status, again.again_of, again.owner) == ("manual", "queued", run, alice)
    assert (again.turn.agent, again.turn.series) == (run.agent, f"schedule:{schedule.pk}")
    assert Schedule.objects.values("next_run_at", "planned_through", "reached_count").get() == before


def test_what_is_unfinished_is_not_run_again(
    alice: Any, olivia: Any, make_schedule: Any, make_run: Any, now: Any
) -> None:
    schedule = make_schedule(owner=alice)
    run = make_run(schedule=schedule)
    first = run_again(run=run, actor=olivia, now=now)
    for other in (run, first):
        with pytest.raises(Refusal) as refused:
            run_again(run=other, actor=olivia, now=now)
        assert (refused.value.code, refused.value.params["run"]) == ("already_running", first.public_id)
    Schedule.objects.update(overlap_policy="allow")
    assert run_again(run=run, actor=olivia, now=now)


def test_the_gate_is_asked_and_a_refusal_leaves_nothing(
    alice: Any, olivia: Any, make_schedule: Any, make_run: Any, make_agent: Any, now: Any
) -> None:
    """R16, P11: the recorded agent and project under today's rules."""
    run = make_run(schedule=make_schedule(owner=alice, agent=make_agent(enabled=False)))
    with pytest.raises(Refusal) as refused:
        run_again(run=run, actor=olivia, now=now)
    assert (refused.value.code, refused.value.status) == ("agent_disabled", 409)
    global_stop_set(on=True, reason="moving", actor=olivia, now=now)
    with pytest.raises(Refusal) as waiting:
        run_again(run=make_run(schedule=make_schedule(owner=alice)), actor=olivia, now=now)
    assert (waiting.value.code, waiting.value.status) == ("stopped_by_operator", 503)
    assert not Run.objects.filter(again_of__isnull=False).exists()


def test_a_trial_without_a_schedule_runs_again(
    alice: Any, olivia: Any, make_run: Any, make_agent: Any, now: Any
) -> None:
    trial = make_run(owner=alice, agent=make_agent())
    again = run_again(run=trial, actor=olivia, now=now)
    assert (again.schedule, again.again_of, again.turn.series) == (None, trial, None)


def test_the_admin_offers_it_on_settled_runs_only(
    client: Client, alice: Any, olivia: Any, make_schedule: Any, make_run: Any
) -> None:
    client.force_login(olivia)
    run = make_run(schedule=make_schedule(owner=alice))
    page = reverse("admin:schedules_run_change", args=[run.pk])
    address = reverse("admin:schedules_run_act", args=[run.pk, "again"])
    assert address in client.get(page).content.decode()
    client.post(address)
    again = Run.objects.get(again_of=run)
    text = client.get(reverse("admin:schedules_run_change", args=[again.pk])).content.decode()
    assert reverse("admin:schedules_run_act", args=[again.pk, "again"]) not in text
    assert page in text
