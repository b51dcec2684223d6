"""Create, edit and duplicate through the form: as a dialog and as a page without scripts."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from accounts.services.limits import limits_set
from projects.services.policies import policy_set
from schedules.inputs.form import body_to_form
from schedules.models import Schedule
from tests.schedules.forms import PageForm, posted
from tests.schedules.panel.pages import FRAGMENT, codes_of, signed_in, words


@pytest.fixture
def filled(alice: Any, make_agent: Any, ticking: Any) -> dict[str, Any]:
    """What the create page posts when only name and prompt are typed."""
    make_agent(name="Researcher")
    page = signed_in(alice).get("/schedules/new").content.decode()
    return PageForm(page, "schedule-form").posted | {"name": ["Briefing"], "prompt": ["Say hello."]}


def post(user: Any, address: str, form: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
    return signed_in(user).post(address, form, headers=headers or {})


def test_the_create_page_needs_only_a_name_and_a_prompt(alice, filled):
    response = post(alice, "/schedules/new", filled)
    made = Schedule.objects.get()
    assert response.status_code == 303
    assert response["Location"] == f"/panel/#s-{made.public_id}"
    assert (made.name, made.owner, made.enabled) == ("Briefing", alice, True)
    assert made.next_run_at is not None
    assert "“Briefing” is made. Next run in" in words(response.client.get("/panel/").content.decode())


def test_the_dialog_closes_by_an_event_and_the_list_looks_again(alice, filled):
    response = post(alice, "/schedules/new", filled, FRAGMENT)
    assert set(json.loads(response["HX-Trigger"])) == {"saved", "changed"}
    assert response["HX-Reswap"] == "none"
    assert Schedule.objects.count() == 1


def test_a_double_press_makes_one_schedule(alice, filled):
    """Create is idempotent: the form sends one key per opening."""
    first, second = post(alice, "/schedules/new", filled), post(alice, "/schedules/new", filled)
    assert first["Location"] == second["Location"]
    assert Schedule.objects.count() == 1


def test_a_new_opening_has_a_new_key(alice, filled):
    page = signed_in(alice).get("/schedules/new").content.decode()
    assert PageForm(page, "schedule-form").posted["idempotency_key"] != filled["idempotency_key"]


def test_a_refusal_stands_at_its_field_with_its_code_and_keeps_what_was_typed(alice, filled):
    typed = filled | {"name": [""], "kind": ["cron"], "expression": ["every now and then"], "prompt": ["Keep me."]}
    for headers in ({}, FRAGMENT):
        response = post(alice, "/schedules/new", typed, headers)
        page = response.content.decode()
        assert response.status_code == 400
        assert re.search(r'<p class="error" id="name-e" data-code="required">', page)
        assert re.search(r'<p class="error" id="expression-e" data-code="cadence_invalid">', page)
        assert re.search(r'id="name"[^>]*aria-invalid="true" aria-describedby="name-e"', page)
        assert 'value="every now and then"' in page
        assert "Keep me.</textarea>" in page
        assert "2 fields need another look." in words(page)
    assert not Schedule.objects.exists()


def test_a_refused_form_can_be_posted_again_as_it_comes_back(alice, filled):
    page = post(alice, "/schedules/new", filled | {"name": [""]}).content.decode()
    again = PageForm(page, "schedule-form").posted | {"name": ["Briefing"]}
    post(alice, "/schedules/new", again)
    assert Schedule.objects.get().prompt == "Say hello."


def test_what_concerns_the_whole_act_is_said_above_the_fields(alice, filled, moment):
    limits_set(scope="deployment", values={"max_schedules": 0}, now=moment)
    response = post(alice, "/schedules/new", filled, FRAGMENT)
    assert response.status_code == 400
    assert "schedule_limit" in codes_of(response.content.decode())
    assert "Nothing was saved; what you typed is still here." in words(response.content.decode())


@pytest.mark.parametrize(
    ("start", "kind", "time"),
    [("briefing", "weekdays", "08:00"), ("look-back", "weekly", "16:00"), ("word", "daily", "18:00")],
)
def test_each_template_can_be_saved_as_it_is(alice, filled, start, kind, time):
    page = signed_in(alice).get("/schedules/new", {"start": start}).content.decode()
    post(alice, "/schedules/new", PageForm(page, "schedule-form").posted)
    made = Schedule.objects.get()
    assert (made.cadence["kind"], made.cadence["time"]) == (kind, time)


def test_a_quick_choice_fills_in_the_second_on_the_clock_of_the_zone(alice, filled, moment):
    fragment = post(
        alice, "/schedules/quick", filled | {"kind": ["once"], "quick": ["5"], "zone": ["Europe/Berlin"]}, FRAGMENT
    ).content.decode()
    date = re.search(r'name="at_date" value="([^"]+)"', fragment).group(1)  # type: ignore[union-attr]
    time = re.search(r'name="at_time" value="([^"]+)"', fragment).group(1)  # type: ignore[union-attr]
    form = filled | {"kind": ["once"], "at_date": [date], "at_time": [time], "zone": ["Europe/Berlin"]}
    post(alice, "/schedules/new", form)
    away = Schedule.objects.get().next_occurrence_at - moment
    assert timedelta(minutes=5) - timedelta(seconds=2) < away < timedelta(minutes=5, seconds=30)
    assert 'id="preview" hx-swap-oob="true"' in fragment


def test_without_scripts_a_quick_choice_shows_the_form_with_its_preview(alice, filled):
    page = post(alice, "/schedules/new?look=1", filled | {"kind": ["once"], "quick": ["15"]}).content.decode()
    assert "in 15 min" in words(page)
    assert "Say hello.</textarea>" in page
    assert not Schedule.objects.exists()


def test_the_preview_says_the_sentence_and_the_next_five(alice, filled):
    form = filled | {"kind": ["weekly"], "days": ["mon", "thu"], "time": ["07:30"], "zone": ["Europe/Berlin"]}
    fragment = post(alice, "/schedules/preview", form, FRAGMENT).content.decode()
    assert "Every Monday and Thursday at 07:30, Europe/Berlin" in words(fragment)
    assert fragment.count("<li>") == 5
    assert fragment.count("07:30</time>") == 5


def test_the_preview_names_what_is_wrong_but_not_what_is_only_empty(alice, filled):
    wrong = post(alice, "/schedules/preview", filled | {"kind": ["cron"], "expression": ["x"]}, FRAGMENT)
    assert "cadence_invalid" in codes_of(wrong.content.decode())
    empty = post(alice, "/schedules/preview", filled | {"kind": ["cron"], "expression": [""]}, FRAGMENT)
    assert not codes_of(empty.content.decode())


def test_a_moved_occurrence_has_its_note_at_its_row(alice, filled):
    """C2: said where it happens, before saving."""
    form = filled | {"kind": ["once"], "at_date": ["2027-03-28"], "at_time": ["02:30"], "zone": ["Europe/Berlin"]}
    fragment = post(alice, "/schedules/preview", form, FRAGMENT).content.decode()
    row = re.search(r"<li>.*?</li>", fragment, re.DOTALL).group(0)  # type: ignore[union-attr]
    assert 'class="note" data-code="clock_shifted"' in row
    assert "03:00" in row


def test_an_untouched_edit_changes_nothing(alice, make, ticking):
    """B24"""
    schedule = make("Briefing")
    address = f"/schedules/{schedule.public_id}/edit"
    page = signed_in(alice).get(address).content.decode()
    assert post(alice, address, PageForm(page, "schedule-form").posted).status_code == 303
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.revision, after.updated_at) == (schedule.revision, schedule.updated_at)


def test_an_edit_of_one_field_leaves_the_others(alice, make, ticking):
    schedule = make("Briefing", misfire_grace_seconds=90, cadence={"kind": "monthly", "day": 31, "time": "09:00"})
    address = f"/schedules/{schedule.public_id}/edit"
    page = signed_in(alice).get(address).content.decode()
    post(alice, address, PageForm(page, "schedule-form").posted | {"name": ["New name"]})
    after = Schedule.objects.get(pk=schedule.pk)
    assert after.name == "New name"
    assert (after.misfire_grace_seconds, after.cadence) == (90, schedule.cadence)


def test_two_editors_see_both_versions_and_lose_nothing(alice, make, ticking):
    """schedule_changed"""
    schedule = make("Briefing")
    address = f"/schedules/{schedule.public_id}/edit"
    form = PageForm(signed_in(alice).get(address).content.decode(), "schedule-form").posted
    post(alice, address, form | {"prompt": ["Theirs."]})
    response = post(alice, address, form | {"name": ["My name"]}, FRAGMENT)
    page = response.content.decode()
    assert response.status_code == 409
    assert "schedule_changed" in codes_of(page)
    assert "My name" in page
    assert "Theirs." in page
    again = PageForm(page, "schedule-form").posted
    kept = post(alice, address, again | {"resolve": ["edit"]}, FRAGMENT).content.decode()
    assert 'value="My name"' in kept
    post(alice, address, again | {"resolve": ["mine"]})
    after = Schedule.objects.get(pk=schedule.pk)
    assert (after.name, after.prompt) == ("My name", schedule.prompt)


def test_a_copy_begins_with_everything_but_the_name_and_is_a_schedule_of_its_own(alice, make, ticking):
    schedule = make("Briefing", cadence={"kind": "weekly", "days": ["tue"], "time": "10:00"}, overlap_policy="allow")
    page = signed_in(alice).get("/schedules/new", {"copy": schedule.public_id}).content.decode()
    post(alice, "/schedules/new", PageForm(page, "schedule-form").posted)
    copy = Schedule.objects.exclude(pk=schedule.pk).get()
    assert (copy.name, copy.cadence, copy.overlap_policy) == ("Briefing (copy)", schedule.cadence, "allow")


def test_the_page_shows_what_the_one_serializer_reads(alice, make, ticking):
    """One form for API and page: every field of the stored schedule is in the page as the inputs room says it."""
    schedule = make(
        "Briefing", cadence={"kind": "interval", "every": 3, "unit": "hours", "anchor": "2026-06-01T08:00:00Z"}
    )
    page = signed_in(alice).get(f"/schedules/{schedule.public_id}/edit").content.decode()
    shown, stored = PageForm(page, "schedule-form").posted, posted(body_to_form(schedule))
    filled = {name: stored.getlist(name) for name in stored if any(stored.getlist(name))}
    assert {name: shown[name] for name in filled} == filled


def test_a_pinned_project_is_shown_and_cannot_be_chosen(alice, filled, make_project, moment):
    """P14"""
    make_project(owner=alice, name="Shop")
    policy_set(scope="deployment", values={"pinned_project": "Shop"}, now=moment)
    page = signed_in(alice).get("/schedules/new").content.decode()
    assert "data-pinned" in page
    assert 'name="project"' not in page
    form = {name: value for name, value in filled.items() if name != "project"}
    post(alice, "/schedules/new", form)
    assert Schedule.objects.get().project.name == "Shop"


def test_a_required_project_offers_no_none_and_saving_without_points_at_the_field(alice, filled, make_project, moment):
    """projects.md, In the dialog"""
    make_project(owner=alice, name="Shop")
    policy_set(scope="deployment", values={"require_project": True}, now=moment)
    page = signed_in(alice).get("/schedules/new").content.decode()
    assert "No project" not in page
    response = post(alice, "/schedules/new", filled | {"project": [""]})
    assert 'id="project-e" data-code="project_required"' in response.content.decode()


def test_a_stored_agent_that_is_off_is_shown_by_name_and_not_as_an_empty_field(alice, make, make_agent, ticking):
    schedule = make("Briefing", agent=make_agent(name="Old hand", enabled=False))
    page = signed_in(alice).get(f"/schedules/{schedule.public_id}/edit").content.decode()
    option = re.search(r'<option value="' + schedule.agent.public_id + r'"[^>]*>', page).group(0)  # type: ignore[union-attr]
    assert "selected" in option
    assert "It is switched off." in option


def test_the_edit_page_of_somebody_elses_schedule_is_not_there(bob, make, ticking):
    """P15"""
    schedule = make("Briefing")
    assert signed_in(bob).get(f"/schedules/{schedule.public_id}/edit").status_code == 404
    assert signed_in(bob).get("/schedules/new", {"copy": schedule.public_id}).status_code == 404
