"""The side panel: what each card says, in which group, and what stands around the cards."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.services.limits import limits_set
from accounts.services.stops import global_stop_set
from chats.models import Message, WorkerHost
from schedules.models import Schedule
from tests import factories
from tests.schedules.panel.pages import card_of, groups_of, signed_in, state_of, words


def opened(alice: Any, query: str = "") -> str:
    return signed_in(alice).get(f"/panel/{query}").content.decode()


def running(make_turn: Any, make_run: Any, schedule: Schedule, moment: Any, text: str = "") -> Any:
    turn = make_turn(
        owner=schedule.owner, agent=schedule.agent, status="running", fence=1, leased_by="w",
        lease_expires_at=moment + timedelta(minutes=1), started_at=moment, now=moment,
    )  # fmt: skip
    run = make_run(
        schedule=schedule, status="running", turn=turn, now=moment, started_at=moment - timedelta(seconds=108)
    )
    if text:
        conversation = factories.make_conversation(owner=schedule.owner, now=moment)
        Message.objects.create(
            conversation=conversation, turn=turn, sequence=1, role="assistant", text=text, state="streaming",
            created_at=moment,
        )  # fmt: skip
    return run


def test_an_armed_card_says_what_comes_next_twice(alice, make, ticking):
    """interfaces.md, Card"""
    schedule = make("Morning briefing")
    page = opened(alice)
    card = card_of(page, schedule.public_id)
    assert state_of(page, schedule.public_id) == "armed"
    assert "Every day at 09:00" in words(card)
    assert f'<time datetime="{schedule.next_occurrence_at:%Y-%m-%dT%H:%M:%SZ}"' in card
    assert "Next in" in words(card)
    assert 'aria-checked="true"' in card


def test_a_running_card_shows_the_first_line_how_long_and_stop(alice, make, make_turn, make_run, moment, ticking):
    schedule = make("Release watch")
    run = running(make_turn, make_run, schedule, moment, "## Two of **nine**\nmore")
    card = card_of(opened(alice), schedule.public_id)
    assert "Two of nine" in card
    assert "more" not in words(card).replace("More for", "")
    assert "1 min 4" in words(card)
    assert f"/runs/{run.public_id}/stop" in card


def test_a_queued_card_says_what_it_waits_for(alice, make, make_turn, make_run, moment, ticking):
    waits, retries = make("Waits"), make("Retries")
    make_run(schedule=waits, status="queued", now=moment, turn=make_turn(owner=alice, now=moment))
    again = make_turn(owner=alice, now=moment, attempts_made=2, error_code="provider_unreachable")
    again.not_before = moment + timedelta(minutes=5)
    again.save()
    make_run(schedule=retries, status="queued", now=moment, turn=again)
    page = opened(alice)
    assert "Waits for a free slot." in words(card_of(page, waits.public_id))
    said = words(card_of(page, retries.public_id))
    assert "The provider could not be reached. Tries again at" in said
    assert "(try 3)" in said


def test_a_failed_last_run_needs_you_and_says_why(alice, make, make_run, moment, ticking):
    schedule = make("Log review")
    run = make_run(schedule=schedule, status="failed", reason="provider_auth", now=moment - timedelta(hours=1))
    Schedule.objects.filter(pk=schedule.pk).update(last_run=run)
    page = opened(alice)
    assert state_of(page, schedule.public_id) == "failed"
    assert groups_of(page) == ["Needs you"]
    said = words(card_of(page, schedule.public_id))
    assert "Last run failed. The provider refused the key." in said
    assert "Run now" in said


@pytest.mark.parametrize(
    ("reason", "act"),
    [
        ("project_required", "edit?field=project"),
        ("agent_disabled", "edit?field=agent"),
        ("cadence_below_floor", "edit?field=kind"),
        ("zone_unknown", "edit?field=zone"),
        ("too_many_failures", "resume"),
    ],
)
def test_a_blocked_card_says_why_and_offers_the_one_act_that_mends_it(alice, make, reason, act, ticking):
    schedule = make("Digest", armed=False, blocked_reason=reason)
    card = card_of(opened(alice), schedule.public_id)
    assert f'data-code="{reason}"' in card
    assert (
        f'href="/schedules/{schedule.public_id}/{act}"' in card
        or f'hx-post="/schedules/{schedule.public_id}/{act}"' in card
    )
    assert 'aria-checked="false"' in card


def test_groups_stand_in_their_order_and_only_when_filled(alice, make, make_turn, make_run, moment, ticking):
    running(make_turn, make_run, make("Runs"), moment)
    make("Comes")
    make("Rests", armed=False, enabled=False, paused_at=moment)
    make("Blocked", armed=False, blocked_reason="agent_deleted")
    assert groups_of(opened(alice)) == ["Needs you", "Now", "Coming up", "Resting"]
    assert groups_of(opened(alice, "?show=paused")) == ["Resting"]


def test_tabs_count_and_the_foot_says_how_many_of_how_many(alice, make, moment, ticking):
    """accounts.md: completed ones do not count."""
    make("Comes")
    make("Rests", armed=False, enabled=False, paused_at=moment)
    make("Done", armed=False, completed_at=moment)
    page = words(opened(alice))
    assert "All 3" in page
    assert "Paused 1" in page
    assert "2 of 10 schedules" in page


def test_the_strip_says_the_last_ten_in_words(alice, make, make_run, moment, ticking):
    schedule = make("Briefing")
    for hours in range(12, 0, -1):
        make_run(schedule=schedule, status="failed" if hours == 3 else "succeeded", now=moment - timedelta(hours=hours))
    card = card_of(opened(alice), schedule.public_id)
    assert 'aria-label="Last 10 runs, oldest first: 9 succeeded, 1 failed"' in card
    assert card.count("#s-succeeded") == 9


@pytest.mark.parametrize(("kind", "label"), [("demo", "demo"), ("local", "small local model"), ("openai", "")])
def test_an_agent_without_a_provider_somebody_added_is_labelled(
    alice, make, make_agent, make_model, make_provider, kind, label, ticking
):
    """agents: labelled as such everywhere"""
    agent = make_agent(model=make_model(provider=make_provider(kind=kind)))
    schedule = make("Words", agent=agent)
    card = card_of(opened(alice), schedule.public_id)
    assert ("data-label" in card) is bool(label)
    assert label in words(card)


def test_a_stand_in_for_a_model_is_said_until_a_real_one_answers(
    alice, make, make_agent, make_model, make_provider, ticking
):
    """agents: a banner says how to add a real one."""
    local = make_agent(model=make_model(provider=make_provider(kind="local")))
    assert "Answers come from the small built-in model." in words(opened(alice))
    make("Words", agent=local)
    assert "Answers come from the small built-in model." in words(opened(alice))
    make("Briefing")
    assert "small built-in model" not in words(opened(alice))


def test_nothing_yet_is_an_invitation_with_three_templates(alice, ticking):
    page = opened(alice)
    assert "Nothing is scheduled yet" in page
    assert page.count("/schedules/new?start=") == 6  # each as a link, and as a request of a script


def test_no_match_says_so_and_leads_back(alice, make, ticking):
    make("Briefing")
    assert "No schedule matches “zebra”" in words(opened(alice, "?q=zebra"))
    assert "Nothing is blocked" in words(opened(alice, "?show=blocked"))
    assert "Briefing" in opened(alice, "?q=brief")


def test_somebody_who_may_only_look_is_offered_no_change(make_user, make_schedule, moment, ticking):
    carol = make_user("carol@example.com", member=False)
    schedule = make_schedule(owner=carol, now=moment)
    page = signed_in(carol).get("/panel/").content.decode()
    assert "You may look, pause and delete." in page
    card = card_of(page, schedule.public_id)
    assert "/edit" not in card
    assert "/run" not in card.replace("/runs/", "")
    assert f"/schedules/{schedule.public_id}/pause" in card


def test_the_global_stop_is_said_with_its_reason_and_holds_the_next_run(alice, olivia, make, moment, ticking):
    schedule = make("Words")
    global_stop_set(on=True, reason="moving the database", actor=olivia, now=moment)
    page = opened(alice)
    assert "Olivia stopped all runs at" in words(page)
    assert "“moving the database”" in words(page)
    assert "Held. Due" in words(card_of(page, schedule.public_id))
    assert 'data-code="stopped_by_operator"' in signed_in(alice).get("/runs/").content.decode()


def test_a_silent_clock_is_said_on_every_page(alice, make, moment):
    WorkerHost.objects.create(name="host", hostname="host", started_at=moment, clock_at=moment - timedelta(seconds=31))
    for address in ("/panel/", "/runs/", "/c/", "/projects/", "/settings/"):
        assert 'data-code="clock_silent"' in signed_in(alice).get(address).content.decode(), address
    WorkerHost.objects.update(clock_at=moment)
    assert 'data-code="clock_silent"' not in opened(alice)


def test_a_name_that_looks_like_markup_is_text(alice, make, ticking):
    """quality.md, Security: text"""
    schedule = make("<img src=x onerror=alert(1)>\"'")
    card = card_of(opened(alice), schedule.public_id)
    assert "<img" not in card
    assert "&lt;img src=x onerror=alert(1)&gt;" in card


def test_another_persons_schedules_are_not_in_the_panel(alice, bob, make, ticking):
    """P15"""
    make("Alices own matter")
    assert "Alices own matter" not in opened(bob)


def test_a_lowered_cap_shows_in_the_foot(alice, make, moment, ticking):
    limits_set(scope="deployment", values={"max_schedules": 3}, now=moment)
    make("One")
    assert "1 of 3 schedules" in opened(alice)


def test_fifty_cards_take_eight_queries(alice, make, make_run, moment, ticking):
    """quality.md, panel: eight beside session, person, whether they are leaving, and the database's clock."""
    for number in range(50):
        schedule = make(f"Schedule {number}")
        run = make_run(schedule=schedule, now=moment - timedelta(hours=1))
        Schedule.objects.filter(pk=schedule.pk).update(last_run=run)
    client = signed_in(alice)
    with CaptureQueriesContext(connection) as seen:
        client.get("/panel/")
    asked = [query["sql"][:120] for query in seen if "clock_timestamp" not in query["sql"]]
    assert len(asked) <= 11, asked


def test_the_first_visit_weighs_less_than_sixty_kilobytes(alice, make, make_run, moment, ticking):
    """quality.md, page weight: panel with 20 cards, first visit, compressed."""
    for number in range(20):
        schedule = make(f"Schedule {number}")
        for hours in range(1, 11):
            run = make_run(schedule=schedule, now=moment - timedelta(hours=hours))
        Schedule.objects.filter(pk=schedule.pk).update(last_run=run)
    client = signed_in(alice)
    response = client.get("/panel/", headers={"Accept-Encoding": "gzip"})
    assert response["Content-Encoding"] == "gzip"
    page = gzip.decompress(response.content).decode()
    total = len(response.content)
    for address in static_files_of(page):
        total += len(gzip.compress(static_file(address)))
    assert total <= 60 * 1024, total


def static_files_of(page: str) -> set[str]:
    return {found.split("#")[0] for found in re.findall(r'(?:href|src)="(/static/[^"]+)"', page)}


def static_file(address: str) -> bytes:
    found = finders.find(address.removeprefix("/static/"))
    assert found, address
    return Path(str(found)).read_bytes()
