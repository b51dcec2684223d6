"""`/api/v1/runs`: the ledger, its filters, stop and attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chats.models import TurnAttempt

LIST = "/api/v1/runs"
DUE = datetime(2026, 6, 1, 9, tzinfo=UTC)


@pytest.fixture
def schedule(alice, agent, make_schedule):
    return make_schedule(owner=alice, agent=agent)


@pytest.fixture
def ledger(schedule, make_run):
    """Five runs on five days, of different outcomes."""
    outcomes = ["succeeded", "failed", "skipped", "missed", "succeeded"]
    return [
        make_run(schedule=schedule, status=status, reason="overlap" if status == "skipped" else "",
                 scheduled_for=DUE + timedelta(days=day))
        for day, status in enumerate(outcomes)
    ]  # fmt: skip


def ids(response):
    assert response.status_code == 200, response.content
    return [row["id"] for row in response.json()["results"]]


def test_runs_are_listed_newest_planned_instant_first(api, ledger):
    newest = [run.public_id for run in reversed(ledger)]
    assert ids(api.get(LIST)) == newest
    page = api.get(LIST, {"limit": 3})
    assert ids(page) == newest[:3]
    assert ids(api.get(page.json()["next"])) == newest[3:]


def test_the_filters_narrow_the_ledger(api, ledger, schedule, alice, agent, make_schedule, make_run):
    other = make_run(schedule=make_schedule(owner=alice, agent=agent), scheduled_for=DUE + timedelta(days=9))
    wanted = {
        "status=failed": [1],
        "status=failed,skipped": [2, 1],
        f"schedule={schedule.public_id}": [4, 3, 2, 1, 0],
        "since=2026-06-04T09:00:00Z&until=2026-06-05T09:00:00Z": [4, 3],
        "until=2026-06-01T11:00:00%2B02:00": [0],
    }
    for query, expected in wanted.items():
        assert ids(api.get(f"{LIST}?{query}")) == [ledger[index].public_id for index in expected], query
    assert ids(api.get(f"/api/v1/schedules/{schedule.public_id}/runs?status=missed")) == [ledger[3].public_id]
    assert other.public_id in ids(api.get(LIST))


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("status=done", "choice_unknown"),
        ("status=", "choice_unknown"),
        ("since=2026-06-01", "wrong_type"),
        ("since=2026-06-01T00:00:00", "instant_without_offset"),
        ("owner=bob", "filter_unknown"),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(api, query, code):
    response = api.get(f"{LIST}?{query}")
    assert (response.status_code, response.json()["code"]) == (400, code)


def test_one_run_is_read_by_its_id(api, ledger, schedule):
    shown = api.get(f"{LIST}/{ledger[2].public_id}").json()
    assert (shown["schedule"], shown["status"], shown["reason"]) == (schedule.public_id, "skipped", "overlap")
    assert shown["reason_text"] == "The run before was still busy. Rule: skip this time."


def test_stopping_a_waiting_run_ends_it_and_a_second_stop_changes_nothing(api, schedule, alice, make_run, make_turn):
    run = make_run(schedule=schedule, kind="manual", status="queued", turn=make_turn(owner=alice, origin="schedule"))
    first = api.post(f"{LIST}/{run.public_id}/stop")
    assert (first.status_code, first.json()["settled_at"] is not None) == (202, True)
    assert api.post(f"{LIST}/{run.public_id}/stop").json() == first.json()


def test_stopping_an_ended_run_returns_it_unchanged(api, ledger):
    before = api.get(f"{LIST}/{ledger[0].public_id}").json()
    assert api.post(f"{LIST}/{ledger[0].public_id}/stop").json() == before


def test_the_attempts_of_a_run_are_listed_first_to_last(api, schedule, alice, make_run, make_turn):
    """B73."""
    turn = make_turn(owner=alice, origin="schedule")
    for number in (1, 2):
        TurnAttempt.objects.create(turn=turn, number=number, fence=number, started_at=DUE, outcome="failed")
    run = make_run(schedule=schedule, kind="manual", turn=turn)
    response = api.get(f"{LIST}/{run.public_id}/attempts").json()
    assert [attempt["number"] for attempt in response["results"]] == [1, 2]
    never = make_run(schedule=schedule, kind="manual", status="skipped")
    assert api.get(f"{LIST}/{never.public_id}/attempts").json()["results"] == []


def test_a_page_of_runs_takes_few_queries(api, schedule, make_run, django_assert_max_num_queries):
    for hour in range(60):
        make_run(schedule=schedule, scheduled_for=DUE + timedelta(hours=hour))
    with django_assert_max_num_queries(4):
        assert len(ids(api.get(LIST))) == 50
