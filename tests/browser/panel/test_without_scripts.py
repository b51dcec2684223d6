"""Everything essential with scripts off: forms, pages and redirects."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from schedules.models import Schedule

pytestmark = pytest.mark.browser


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "java_script_enabled": False, "viewport": {"width": 360, "height": 640}}


def test_create_pause_resume_edit_and_delete(panel: Page, make: Any):
    make("Other")
    panel.reload()
    panel.get_by_role("link", name="New schedule").click()
    panel.get_by_label("Name").fill("Briefing")
    panel.get_by_label("Prompt").fill("Say hello.")
    panel.locator("[name=kind][value=weekly]").check()
    panel.get_by_role("checkbox", name="Thursday").check()
    panel.get_by_role("button", name="Show the next times").click()
    expect(panel.locator(".sentence")).to_contain_text("Every Monday and Thursday at 09:00")
    panel.get_by_role("button", name="Create schedule").click()
    expect(panel.get_by_text("“Briefing” is made.")).to_be_visible()
    panel.get_by_role("switch", name="Briefing on schedule").click()
    expect(panel.get_by_text("“Briefing” was paused.")).to_be_visible()
    panel.get_by_role("button", name="Undo").click()
    expect(panel.get_by_text("“Briefing” is on.")).to_be_visible()
    schedule = Schedule.objects.get(name="Briefing")
    assert schedule.cadence["days"] == ["mon", "thu"]
    panel.locator(f"#s-{schedule.public_id}-more").click()
    panel.locator(f"#menu-{schedule.public_id}").get_by_role("link", name="Edit").click()
    panel.get_by_label("Name").fill("")
    panel.get_by_role("button", name="Save").click()
    expect(panel.locator("#name-e")).to_have_attribute("data-code", "required")
    panel.get_by_label("Name").fill("Evening briefing")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_text("“Evening briefing” is saved.")).to_be_visible()
    panel.locator(f"#s-{schedule.public_id}-more").click()
    panel.locator(f"#menu-{schedule.public_id}").get_by_role("link", name="Delete…").click()
    panel.get_by_role("button", name="Delete schedule").click()
    expect(panel.get_by_text("“Evening briefing” was deleted.")).to_be_visible()
    assert not Schedule.objects.filter(name="Evening briefing").exists()


def test_only_the_fields_of_the_chosen_kind_are_shown(panel: Page, live_server: Any):
    panel.goto(f"{live_server.url}/schedules/new")
    panel.locator("[name=kind][value=cron]").check()
    expect(panel.locator("[name=expression]")).to_be_visible()
    expect(panel.locator("[name=time]")).to_be_hidden()


def test_agent_project_and_zone_are_plain_selects(panel: Page, live_server: Any, make: Any):
    make("Other")
    panel.goto(f"{live_server.url}/schedules/new")
    for name, label in (("agent", "Researcher"), ("zone", "Asia/Tokyo")):
        panel.locator(f"select[name={name}]").select_option(label=label)
    panel.get_by_label("Name").fill("Briefing")
    panel.get_by_label("Prompt").fill("Say hello.")
    panel.get_by_role("button", name="Create schedule").click()
    assert Schedule.objects.get(name="Briefing").zone == "Asia/Tokyo"
