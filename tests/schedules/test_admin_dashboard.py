"""The first page of the admin: figures that cost the same with a million runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from accounts.services.stops import global_stop_set
from chats.models import WorkerHost
from schedules.models import Schedule
from schedules.selectors import dashboard

SECOND = timedelta(seconds=1)


def test_what_is_due_running_queued_and_waiting_is_counted(
    alice: Any, make_schedule: Any, make_run: Any, make_turn: Any, now: Any
) -> None:
    due = make_schedule(owner=alice, next_run_at=now)
    make_schedule(owner=alice, next_run_at=now + SECOND)
    make_turn(owner=alice)
    make_turn(owner=alice)
    make_turn(owner=alice, status="running", lease_expires_at=now, leased_by="a", leased_at=now)
    make_turn(owner=alice, status="completed", settled_at=now)
    make_run(schedule=due, status="needs_approval")
    make_run(schedule=due, scheduled_for=now - SECOND)
    assert dashboard.now_figures(now) == dashboard.Now(due=1, running=1, queued=2, approvals=1)


def test_the_day_counts_outcomes_and_delays_of_24_hours(
    alice: Any, make_schedule: Any, make_run: Any, now: Any
) -> None:
    schedule = make_schedule(owner=alice)
    for number in range(100):
        at = now - timedelta(minutes=number)
        make_run(schedule=schedule, scheduled_for=at, started_at=at + SECOND * (9 if number == 0 else 1))
    make_run(schedule=schedule, scheduled_for=now - timedelta(hours=25), status="failed")
    make_run(schedule=schedule, scheduled_for=now - timedelta(hours=23), status="missed")
    day = dashboard.day_figures(now)
    assert day.outcomes == {"succeeded": 100, "missed": 1}
    assert (day.p50, day.p99, day.started, day.total, day.bounded) == (1.0, 1.0, 100, 101, False)


def test_a_busy_day_is_read_up_to_a_bound(
    alice: Any, make_schedule: Any, make_run: Any, now: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(dashboard, "MOST_RUNS", 2)
    schedule = make_schedule(owner=alice)
    for number in range(3):
        make_run(schedule=schedule, scheduled_for=now - SECOND * number)
    day = dashboard.day_figures(now)
    assert (day.total, day.bounded) == (2, True)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, None),
        ([3.0], 0.99, 3.0),
        ([1.0, 2.0], 0.5, 1.0),
        ([1.0, 2.0], 0.99, 2.0),
        (list(range(1, 101)), 0.99, 99),
    ],
)
def test_a_percentile_is_the_nearest_rank(values: list[float], share: float, expected: float | None) -> None:
    assert dashboard.percentile(values, share) == expected


def test_blocked_schedules_are_counted_by_reason_most_first(alice: Any, make_schedule: Any) -> None:
    for reason in ("project_required", "by_operator", "project_required", ""):
        make_schedule(owner=alice, blocked_reason=reason)
    assert dashboard.blocked_by_reason() == [("project_required", 2), ("by_operator", 1)]


def test_blocked_schedules_are_found_by_their_index(alice: Any) -> None:
    plan = Schedule.objects.exclude(blocked_reason="").order_by().values("blocked_reason").explain()
    assert "schedule_blocked" in plan or "Seq Scan" in plan  # PostgreSQL reads a table of one page as a whole


def test_only_hosts_that_tick_are_alive(db: None, now: Any) -> None:
    for name, age, restarts in (("fresh", 1, 2), ("stale", 300, 5)):
        WorkerHost.objects.create(
            name=name, hostname=name, started_at=now, clock_at=now - SECOND * age, cluster_restarts=restarts
        )
    engine = dashboard.engine_figures(now)
    assert (engine.hosts, engine.cluster_restarts, engine.clock_age) == (1, 2, 1.0)
    assert engine.database.split()[0] in ("SQLite", "PostgreSQL")


def test_the_page_shows_them_and_every_page_shows_the_stop(client: Client, olivia: Any, now: Any) -> None:
    client.force_login(olivia)
    text = client.get(reverse("admin:index")).content.decode()
    assert "Nothing is blocked." in text
    assert "Off: what falls due runs." in text
    global_stop_set(on=True, reason="moving house", actor=olivia, now=now)
    for page in ("admin:index", "admin:schedules_run_changelist"):
        assert "moving house" in client.get(reverse(page)).content.decode()


def test_figures_are_for_those_who_may_see_runs(client: Client, make_user: Any) -> None:
    looks = make_user(is_staff=True)
    client.force_login(looks)
    assert client.get(reverse("admin:index")).context["figures"] is None
    looks.user_permissions.add(Permission.objects.get(codename="view_run"))
    assert client.get(reverse("admin:index")).context["figures"] is not None
