"""The acts of a card, by script and without: each is one service, a redirect or a toast, and never loses its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from chats.models import Turn
from schedules.models import Run, Schedule
from tests.schedules.panel.pages import FRAGMENT, codes_of, signed_in, words


def act(user: Any, schedule: Schedule, name: str, *, headers: dict[str, str] | None = None, **data: Any) -> Any:
    return signed_in(user).post(f"/schedules/{schedule.public_id}/{name}", data, headers=headers or {})


def test_pause_goes_back_to_the_card_and_offers_an_undo(alice, make, ticking):
    schedule = make("Reading list")
    response = act(alice, schedule, "pause")
    assert response.status_code == 303
    assert response["Location"] == f"/panel/#s-{schedule.public_id}"
    schedule.refresh_from_db()
    assert not schedule.enabled
    page = response.client.get("/panel/").content.decode()
    assert "“Reading list” was paused." in words(page)
    assert f'action="/schedules/{schedule.public_id}/resume"' in page


def test_pause_by_script_answers_a_toast_and_an_event(alice, make, ticking):
    schedule = make("Reading list")
    response = act(alice, schedule, "pause", headers=FRAGMENT)
    assert response.status_code == 200
    assert response["HX-Reswap"] == "none"
    assert "changed" in json.loads(response["HX-Trigger"])
    assert 'id="toast" hx-swap-oob="true"' in response.content.decode()
    assert f'hx-post="/schedules/{schedule.public_id}/resume"' in response.content.decode()


def test_resume_switches_on_again_and_says_when_it_runs(alice, make, moment, ticking):
    schedule = make("Reading list", armed=False, enabled=False, paused_at=moment)
    response = act(alice, schedule, "resume", headers=FRAGMENT)
    schedule.refresh_from_db()
    assert schedule.enabled
    assert schedule.next_run_at is not None
    assert "Next run in" in words(response.content.decode())


def test_a_refused_resume_says_why_in_place_with_its_code(alice, make, make_agent, ticking):
    schedule = make("Digest", armed=False, agent=make_agent(enabled=False), blocked_reason="agent_disabled")
    response = act(alice, schedule, "resume", headers=FRAGMENT)
    assert response.status_code >= 400
    assert response["Quotidian-Swap"] == "1"
    assert "agent_disabled" in codes_of(response.content.decode())
    page = act(alice, schedule, "resume")
    assert page.status_code == response.status_code
    assert "agent_disabled" in codes_of(page.content.decode())


def test_a_double_press_of_run_now_is_one_run(alice, make, ticking):
    """runs.md, Run now"""
    schedule = make("Briefing", overlap_policy="allow")
    for _press in range(2):
        act(alice, schedule, "run", idempotency_key=f"{schedule.public_id}.1")
    assert Run.objects.filter(schedule=schedule).count() == 1
    act(alice, schedule, "run", idempotency_key=f"{schedule.public_id}.2")
    assert Run.objects.filter(schedule=schedule).count() == 2


def test_run_now_while_a_run_goes_on_is_refused_in_words(alice, make, ticking):
    schedule = make("Briefing")
    act(alice, schedule, "run", idempotency_key="a")
    response = act(alice, schedule, "run", headers=FRAGMENT, idempotency_key="b")
    assert response.status_code == 409
    assert "already_running" in codes_of(response.content.decode())


def test_skip_next_leaves_out_the_occurrence_that_the_button_names(alice, make, ticking):
    schedule = make("Briefing")
    named = schedule.next_occurrence_at
    act(alice, schedule, "skip-next", scheduled_for=named.isoformat())
    schedule.refresh_from_db()
    assert schedule.skip_next_at == named
    assert "left out by you" in signed_in(alice).get(f"/schedules/{schedule.public_id}/").content.decode()


@pytest.mark.parametrize("typed", ["", "soon", "2026-06-05T07:00:00"])
def test_skip_next_of_something_that_is_no_instant_changes_nothing(alice, make, typed, ticking):
    schedule = make("Briefing")
    assert act(alice, schedule, "skip-next", scheduled_for=typed).status_code == 400
    schedule.refresh_from_db()
    assert schedule.skip_next_at is None


def test_delete_asks_first_naming_what_stays(alice, make, make_run, make_conversation, moment, ticking):
    schedule = make("Reading list")
    for hour in range(2):
        conversation = make_conversation(owner=alice, now=moment)
        make_run(schedule=schedule, conversation=conversation, now=moment.replace(hour=hour))
    page = signed_in(alice).get(f"/schedules/{schedule.public_id}/delete").content.decode()
    assert "Delete “Reading list”?" in page
    assert "Its 2 conversations stay." in words(page)
    assert Schedule.objects.filter(pk=schedule.pk).exists()
    response = act(alice, schedule, "delete")
    assert response["Location"] == "/panel/"
    assert not Schedule.objects.filter(pk=schedule.pk, deleting_at=None).exists()


def test_stop_reaches_the_turn_and_a_second_stop_changes_nothing(alice, make, make_turn, make_run, moment, ticking):
    schedule = make("Release watch")
    turn = make_turn(owner=alice, agent=schedule.agent, now=moment)
    run = make_run(schedule=schedule, status="queued", turn=turn, now=moment)
    client = signed_in(alice)
    for _press in range(2):
        response = client.post(f"/runs/{run.public_id}/stop", {"next": "/runs/"})
        assert response["Location"] == "/runs/"
    assert Turn.objects.get(pk=turn.pk).status == "stopped"


@pytest.mark.parametrize("elsewhere", ["https://example.org/", "//example.org/", "javascript:alert(1)"])
def test_a_form_leads_to_no_other_site(alice, make, elsewhere, ticking):
    schedule = make("Briefing")
    response = act(alice, schedule, "pause", next=elsewhere)
    assert response["Location"].startswith("/panel/")


@pytest.mark.parametrize("name", ["run", "pause", "resume", "skip-next"])
def test_an_act_is_never_done_by_following_a_link(alice, make, name, ticking):
    schedule = make("Briefing")
    assert signed_in(alice).get(f"/schedules/{schedule.public_id}/{name}").status_code == 405


@pytest.mark.parametrize("name", ["run", "pause", "resume", "skip-next", "delete", "edit"])
def test_a_form_without_its_token_is_refused(alice, make, name, ticking):
    schedule = make("Briefing")
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    response = client.post(f"/schedules/{schedule.public_id}/{name}", headers=FRAGMENT)
    assert response.status_code == 403
    assert "csrf_failed" in response.content.decode()
