"""A schedule's own page and the ledger across schedules."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from schedules.models import Schedule
from tests.schedules.panel.pages import FRAGMENT, signed_in, words


def detail(user: Any, schedule: Schedule) -> str:
    return signed_in(user).get(f"/schedules/{schedule.public_id}/").content.decode()


def row_of(page: str, run: Any) -> str:
    return re.search(rf'<li class="run" id="r-{run.public_id}".*?</li>', page, re.DOTALL).group(0)  # type: ignore[union-attr]


def test_the_page_says_the_cadence_the_next_ten_and_the_settings(alice, make, ticking):
    page = words(detail(alice, make("Briefing", misfire_grace_seconds=3600, max_runs=7)))
    assert "Every day at 09:00" in page
    assert "Skip, and say so, after 1 hour" in page
    assert "after 7 runs (0 so far)" in page
    assert page.count("09:00") >= 8  # the sentence and the seven that are left


def test_nothing_is_promised_while_it_is_not_on(alice, make, moment, ticking):
    assert "Nothing comes while it is not on." in detail(
        alice, make("Rests", armed=False, enabled=False, paused_at=moment)
    )


@pytest.mark.parametrize(
    ("status", "reason", "params", "said"),
    [
        ("succeeded", "", {}, "Succeeded"),
        ("empty", "empty_answer", {}, "Empty answer. The model finished without an answer."),
        ("failed", "provider_auth", {}, "Failed. The provider refused the key."),
        ("timed_out", "deadline", {"minutes": 10}, "Timed out. No end within 10 minutes."),
        ("interrupted", "worker_lost", {}, "Interrupted. The server went down mid-answer."),
        ("stopped", "stopped_by_owner", {}, "Stopped. You stopped it."),
        ("skipped", "overlap", {}, "Skipped. The run before was still busy."),
        ("refused", "project_required", {}, "Refused. Every schedule needs a project now."),
        ("cancelled", "edited", {}, "Cancelled. You edited the schedule before it started."),
    ],
)
def test_every_outcome_is_a_sentence_with_its_reason(
    alice, make, make_run, moment, status, reason, params, said, ticking
):
    """Success is quiet, everything else has a reason."""
    schedule = make("Briefing")
    run = make_run(
        schedule=schedule, status=status, reason=reason, reason_params=params, now=moment - timedelta(hours=1)
    )
    for page in (detail(alice, schedule), signed_in(alice).get("/runs/").content.decode()):
        assert said in words(row_of(page, run))


def test_a_window_of_missed_occurrences_is_one_row(alice, make, make_run, moment, ticking):
    """C10"""
    first = moment - timedelta(hours=5)
    run = make_run(
        schedule=make("Briefing"), status="missed", reason="misfire", now=first,
        missed_until=first + timedelta(hours=3), missed_count=4,
    )  # fmt: skip
    page = signed_in(alice).get("/runs/").content.decode()
    assert page.count('class="run"') == 1
    assert re.search(r"Missed\. 4 occurrences, .* to .*: ", words(row_of(page, run)))


def test_a_late_run_says_by_how_much(alice, make, make_run, moment, ticking):
    at = moment - timedelta(hours=1)
    run = make_run(
        schedule=make("Briefing"), now=at, late=True, started_at=at + timedelta(minutes=6), duration_seconds=44
    )
    assert "late by 6 min" in words(row_of(signed_in(alice).get("/runs/").content.decode(), run))


def test_a_deleted_conversation_is_not_a_link(alice, make, make_run, make_conversation, moment, ticking):
    gone = make_conversation(owner=alice, deleted_at=moment, now=moment)
    schedule = make("Briefing")
    run = make_run(schedule=schedule, conversation=gone, now=moment - timedelta(hours=1))
    assert gone.public_id not in detail(alice, schedule)
    assert "conversation deleted" in words(row_of(detail(alice, schedule), run))


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"kept", "broken", "old", "other"}),
        ("?outcome=failed", {"broken"}),
        ("?outcome=look", {"broken"}),
        ("?q=other", {"other"}),
        ("?outcome=nonsense", {"kept", "broken", "old", "other"}),
        ("?since=nonsense", {"kept", "broken", "old", "other"}),
    ],
)
def test_the_ledger_is_filtered_by_outcome_and_text(alice, make, make_run, moment, query, shown, ticking):
    schedule, other = make("Briefing"), make("The other")
    runs = {
        "kept": make_run(schedule=schedule, now=moment - timedelta(hours=1)),
        "broken": make_run(schedule=schedule, status="failed", reason="internal", now=moment - timedelta(hours=2)),
        "old": make_run(schedule=schedule, now=moment - timedelta(days=9)),
        "other": make_run(schedule=other, now=moment - timedelta(hours=3)),
    }
    page = signed_in(alice).get(f"/runs/{query}").content.decode()
    assert {name for name, run in runs.items() if f"r-{run.public_id}" in page} == shown


def test_the_ledger_is_filtered_by_schedule_and_dates(alice, make, make_run, moment, ticking):
    schedule, other = make("Briefing"), make("The other")
    new = make_run(schedule=schedule, now=moment - timedelta(hours=1))
    old = make_run(schedule=schedule, now=moment - timedelta(days=9))
    make_run(schedule=other, now=moment - timedelta(hours=1))
    day = f"{moment - timedelta(days=9):%Y-%m-%d}"
    query = {"schedule": schedule.public_id, "since": day, "until": day}
    page = signed_in(alice).get("/runs/", query).content.decode()
    assert f"r-{old.public_id}" in page
    assert f"r-{new.public_id}" not in page
    assert page.count('<li class="run"') == 1


def test_older_runs_follow_without_a_gap_or_a_double(alice, make, make_run, moment, ticking):
    schedule = make("Briefing")
    runs = [make_run(schedule=schedule, kind="manual", now=moment - timedelta(hours=hour // 2)) for hour in range(60)]
    client, seen, query = signed_in(alice), [], ""
    for _page in range(2):
        page = client.get(f"/runs/{query}").content.decode()
        seen += re.findall(r'<li class="run" id="r-(\w+)"', page)
        found = re.search(r'<a class="btn" href="(\?[^"]*before=[^"]+)">', page)
        query = found.group(1).replace("&amp;", "&") if found else ""
    assert sorted(seen) == sorted(run.public_id for run in runs)
    assert not query


def test_a_page_that_is_open_learns_only_what_changed(alice, make, ticking):
    schedule = make("Briefing")
    client, address = signed_in(alice), f"/schedules/{schedule.public_id}/"
    first = client.get(address)
    assert client.get(address, headers={**FRAGMENT, "If-None-Match": first["ETag"]}).status_code == 304
    Schedule.objects.filter(pk=schedule.pk).update(name="Another")
    again = client.get(address, headers={**FRAGMENT, "If-None-Match": first["ETag"]})
    assert "Another" in again.content.decode()
    assert "<!doctype" not in again.content.decode()


def test_another_persons_runs_are_not_in_the_ledger(bob, make, make_run, moment, ticking):
    """P15"""
    make_run(schedule=make("Alices own matter"), now=moment)
    assert "Alices own matter" not in signed_in(bob).get("/runs/").content.decode()
