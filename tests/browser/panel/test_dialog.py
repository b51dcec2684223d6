"""The dialog by mouse and keyboard: nothing typed is lost, and the list follows without reloading."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from schedules.models import Schedule
from tests import factories
from tests.browser.panel.conftest import sign_in

pytestmark = pytest.mark.browser


def opened(page: Page) -> Any:
    page.locator("#new").click()
    sheet = page.get_by_role("dialog")
    expect(sheet).to_be_visible()
    expect(sheet.get_by_label("Name")).to_be_focused()
    return sheet


def test_create_closes_the_dialog_and_the_card_appears_without_reloading(panel: Page, make: Any):
    make("Other")
    panel.evaluate("window.same = true")
    sheet = opened(panel)
    sheet.get_by_label("Name").fill("Morning briefing")
    sheet.get_by_label("Prompt").fill("Say hello.")
    sheet.get_by_role("radio", name="Weekdays").check()
    sheet.locator("[name=time]").fill("08:00")
    expect(sheet.locator(".sentence")).to_have_text("Every weekday at 08:00, Europe/Berlin")
    expect(sheet.locator("#preview li")).to_have_count(5)
    sheet.get_by_role("button", name="Create schedule").click()
    expect(sheet).to_be_hidden()
    expect(panel.locator("article.card", has_text="Morning briefing")).to_be_visible()
    expect(panel.locator("#new")).to_be_focused()
    expect(panel.locator("#toast")).to_contain_text("“Morning briefing” is made.")
    assert panel.evaluate("window.same")


@pytest.mark.parametrize("size", [(1280, 720), (360, 640)])
def test_save_is_in_view_with_every_field_open(panel: Page, make: Any, size: tuple[int, int]):
    panel.set_viewport_size({"width": size[0], "height": size[1]})
    sheet = opened(panel)
    sheet.locator("details.more summary").click()
    for kind in ("Once", "Monthly", "Rule"):
        sheet.get_by_role("radio", name=kind, exact=True).check()
        box = sheet.get_by_role("button", name="Create schedule").bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= size[1]
        assert panel.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_only_the_fields_of_the_chosen_kind_are_shown(panel: Page, make: Any):
    shown = {
        "once": {"at_date", "at_time"},
        "hourly": {"minute"},
        "daily": {"time", "every"},
        "weekdays": {"time"},
        "weekly": {"time", "every"},
        "monthly": {"day", "time"},
        "yearly": {"month", "year_day", "time"},
        "interval": {"interval_every", "interval_unit"},
        "cron": {"expression"},
        "rrule": {"dtstart", "rule"},
    }
    sheet = opened(panel)
    names = sorted({name for some in shown.values() for name in some} | {"anchor", "nth", "weekday"})
    for kind, expected in shown.items():
        sheet.locator(f"[name=kind][value={kind}]").check()
        assert {name for name in names if sheet.locator(f"[name={name}]").is_visible()} == expected, kind


def test_a_refusal_keeps_the_dialog_and_the_text_and_goes_to_the_field(panel: Page, make: Any):
    sheet = opened(panel)
    sheet.get_by_label("Name").fill("Briefing")
    sheet.get_by_role("radio", name="Cron").check()
    sheet.locator("[name=expression]").fill("every now and then")
    sheet.get_by_role("button", name="Create schedule").click()
    expect(sheet.get_by_role("alert").first).to_contain_text("2 fields need another look.")
    expect(sheet.get_by_label("Prompt")).to_be_focused()
    expect(sheet.locator("#expression-e")).to_have_attribute("data-code", "cadence_invalid")
    expect(sheet.locator("[name=expression]")).to_have_value("every now and then")
    sheet.get_by_label("Prompt").fill("Say hello.")
    sheet.locator("[name=expression]").fill("0 8 * * 1-5")
    sheet.get_by_role("button", name="Create schedule").click()
    expect(sheet).to_be_hidden()
    assert Schedule.objects.get().cadence["expression"] == "0 8 * * 1-5"


def test_enter_saves_and_escape_asks_when_something_was_typed(panel: Page, make: Any):
    make("Other")
    sheet = opened(panel)
    panel.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    sheet = opened(panel)
    sheet.get_by_label("Name").fill("Briefing")
    panel.keyboard.press("Escape")
    expect(sheet.get_by_role("button", name="Keep editing")).to_be_focused()
    panel.keyboard.press("Escape")
    expect(sheet.get_by_role("button", name="Create schedule")).to_be_visible()
    sheet.get_by_label("Prompt").fill("Say hello.")
    sheet.get_by_label("Name").press("Enter")
    expect(sheet).to_be_hidden()
    assert Schedule.objects.filter(name="Briefing").count() == 1
    sheet = opened(panel)
    sheet.get_by_label("Name").fill("Thrown away")
    panel.keyboard.press("Escape")
    sheet.get_by_role("button", name="Throw away what you typed").click()
    expect(sheet).to_be_hidden()
    sheet = opened(panel)
    expect(sheet.get_by_label("Name")).to_have_value("")


def test_focus_returns_to_the_menu_that_opened_it(panel: Page, make: Any):
    schedule = make("Briefing")
    panel.reload()
    panel.locator(f"#s-{schedule.public_id}-more").click()
    panel.get_by_role("link", name="Edit", exact=True).click()
    sheet = panel.get_by_role("dialog")
    expect(sheet.get_by_label("Name")).to_have_value("Briefing")
    panel.keyboard.press("Escape")
    expect(panel.locator(f"#s-{schedule.public_id}-more")).to_be_focused()


def test_a_quick_choice_fills_date_and_time_and_the_preview(panel: Page, make: Any):
    sheet = opened(panel)
    sheet.get_by_role("radio", name="Once").check()
    sheet.get_by_role("button", name="In 5 minutes").click()
    expect(sheet.locator("#preview")).to_contain_text("in 5 min")
    assert len(sheet.locator("[name=at_time]").input_value()) == len("08:00:00")


def test_typed_text_outlives_a_lost_session(panel: Page, live_server: Any, alice: Any, make: Any):
    """The draft survives a lost session: a sentence in place, and the same dialog saves after signing in."""
    sheet = opened(panel)
    sheet.get_by_label("Name").fill("Briefing")
    sheet.get_by_label("Prompt").fill("Keep me.")
    panel.context.clear_cookies()
    sheet.get_by_role("button", name="Create schedule").click()
    expect(sheet.get_by_text("You are signed out.")).to_be_visible()
    expect(sheet.get_by_label("Prompt")).to_have_value("Keep me.")
    other = panel.context.new_page()
    other.goto(f"{live_server.url}/accounts/login/")
    other.get_by_label("E-mail").fill(alice.email)
    other.get_by_label("Password").fill(factories.PASSWORD)
    other.get_by_role("button", name="Sign in").click()
    other.wait_for_url("**/panel/")
    other.close()
    sheet.get_by_role("button", name="Create schedule").click()
    expect(sheet).to_be_hidden()
    assert Schedule.objects.get().prompt == "Keep me."


def test_a_draft_is_there_again_after_the_page_was_left(panel: Page, live_server: Any, make: Any):
    sheet = opened(panel)
    sheet.get_by_label("Name").fill("Half a thought")
    sheet.get_by_role("radio", name="Weekly").check()
    panel.goto(f"{live_server.url}/runs/")
    panel.goto(f"{live_server.url}/panel/")
    panel.locator("#new").click()
    sheet = panel.get_by_role("dialog")
    expect(sheet.get_by_label("Name")).to_have_value("Half a thought")
    expect(sheet.get_by_role("radio", name="Weekly")).to_be_checked()
    expect(sheet.get_by_text("This is what you typed before.")).to_be_visible()
    sheet.get_by_role("button", name="Start afresh").click()
    expect(sheet.get_by_label("Name")).to_have_value("")


def test_two_tabs_see_both_versions(panel: Page, live_server: Any, make: Any):
    schedule = make("Briefing")
    panel.goto(f"{live_server.url}/schedules/{schedule.public_id}/")
    panel.get_by_role("link", name="Edit", exact=True).click()
    sheet = panel.get_by_role("dialog")
    sheet.get_by_label("Name").fill("My name")
    Schedule.objects.filter(pk=schedule.pk).update(prompt="Theirs.", revision=schedule.revision + 1)
    sheet.get_by_role("button", name="Save").click()
    expect(sheet.locator("#mine")).to_contain_text("My name")
    expect(sheet.locator("#theirs")).to_contain_text("Theirs.")
    sheet.get_by_role("button", name="Save mine over it").click()
    expect(sheet).to_be_hidden()
    assert Schedule.objects.get().name == "My name"


def test_the_agent_list_searches_moves_and_takes_by_keyboard(panel: Page, make: Any, alice: Any):
    factories.make_agent(name="Writer", description="Drafts and rewrites")
    factories.make_agent(name="Bookkeeper", enabled=False)
    make("Other")
    sheet = opened(panel)
    combo = sheet.get_by_role("combobox", name="Agent")
    combo.focus()
    panel.keyboard.press("ArrowDown")
    expect(combo).to_have_attribute("aria-expanded", "true")
    off = sheet.get_by_role("option", name="Bookkeeper")
    expect(off).to_have_attribute("aria-disabled", "true")
    combo.fill("draf")
    expect(sheet.get_by_role("listbox", name="Agent").get_by_role("option")).to_have_count(1)
    panel.keyboard.press("Enter")
    expect(combo).to_have_value("Writer")
    panel.keyboard.press("ArrowDown")
    panel.keyboard.press("Escape")
    expect(combo).to_have_attribute("aria-expanded", "false")
    expect(sheet).to_be_visible()
    sheet.get_by_label("Name").fill("Briefing")
    sheet.get_by_label("Prompt").fill("Say hello.")
    sheet.get_by_label("Name").press("Enter")
    expect(sheet).to_be_hidden()
    assert Schedule.objects.get(name="Briefing").agent.name == "Writer"


def test_the_prompt_counts_as_people_do_and_takes_a_variable(panel: Page, make: Any):
    sheet = opened(panel)
    sheet.get_by_label("Prompt").fill("e\u0301👨‍👩‍👧")
    expect(sheet.locator("#prompt-n")).to_have_text("2")
    sheet.get_by_role("button", name="Insert").click()
    sheet.get_by_role("button", name="{{weekday}}").click()
    expect(sheet.get_by_label("Prompt")).to_have_value("e\u0301👨‍👩‍👧{{weekday}}")


def test_the_form_is_a_page_of_its_own_too(panel: Page, live_server: Any, alice: Any, make: Any):
    sign_in(panel.context, live_server, alice)
    panel.goto(f"{live_server.url}/schedules/new")
    panel.get_by_label("Name").fill("Briefing")
    panel.get_by_label("Prompt").fill("Say hello.")
    panel.get_by_role("button", name="Create schedule").click()
    panel.wait_for_url("**/panel/**")
    expect(panel.locator("article.card", has_text="Briefing")).to_be_visible()
