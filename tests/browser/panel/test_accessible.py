"""axe on every page and dialog state, light and dark, wide and narrow; the rest by keyboard."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from schedules.models import Schedule
from tests import factories
from tests.browser.panel.test_live import finish, look, started

pytestmark = pytest.mark.browser


def violations(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{page.url}: {entry['id']} {entry['nodes'][0]['html'][:120]}" for entry in found]


@pytest.fixture
def full(alice: Any, make: Any, moment: Any) -> dict[str, str]:
    """One schedule in every state, a project, a growing and a finished conversation; their addresses by name."""
    running, done = make("Running"), make("Done well")
    growing, answered = started(running, moment, "Two of"), started(done, moment - timedelta(hours=1), "# All\n\n- new")
    finish(answered, moment)
    failed = make("Failed")
    run = factories.make_run(schedule=failed, status="failed", reason="provider_auth", now=moment - timedelta(hours=1))
    Schedule.objects.filter(pk=failed.pk).update(last_run=run)
    make("Blocked", armed=False, blocked_reason="project_required")
    make("Paused", armed=False, enabled=False, paused_at=moment)
    make("Completed", armed=False, completed_at=moment)
    project = factories.make_project(owner=alice, name="Shop")
    return {
        "panel": "/panel/",
        "none": "/panel/?q=zebra",
        "schedule": f"/schedules/{done.public_id}/",
        "edit": f"/schedules/{done.public_id}/edit",
        "delete": f"/schedules/{done.public_id}/delete",
        "runs": "/runs/",
        "chats": "/c/",
        "growing": f"/c/{growing.conversation.public_id}",
        "answered": f"/c/{answered.conversation.public_id}",
        "projects": "/projects/",
        "project": f"/projects/{project.public_id}/",
        "project delete": f"/projects/{project.public_id}/delete",
        "settings": "/settings/",
        "access": "/settings/access/",
        "password": "/accounts/password/change/",
        "not there": "/c/nothing",
    }


@pytest.mark.parametrize("size", [(1280, 720), (360, 640)], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_clean_and_fits(
    panel: Page, live_server: Any, full: dict[str, str], scheme: Any, size: tuple[int, int]
):
    """quality.md, Accessibility: WCAG 2.2 AA, 320 px and up without loss."""
    panel.emulate_media(color_scheme=scheme)
    panel.set_viewport_size({"width": size[0], "height": size[1]})
    found = []
    for address in full.values():
        panel.goto(live_server.url + address)
        found += violations(panel)
        assert panel.evaluate("document.documentElement.scrollWidth") <= size[0], address
    assert not found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_of_the_dialog_is_clean(panel: Page, full: dict[str, str], scheme: Any):
    panel.emulate_media(color_scheme=scheme)
    panel.locator("#new").click()
    sheet = panel.get_by_role("dialog")
    expect(sheet).to_be_visible()
    found = violations(panel)
    sheet.locator("details.more summary").click()
    for kind in ("Once", "Weekly", "Monthly", "Rule"):
        sheet.get_by_role("radio", name=kind, exact=True).check()
        found += violations(panel)
    sheet.get_by_role("combobox", name="Agent").click()
    found += violations(panel)
    panel.keyboard.press("Escape")
    sheet.get_by_role("button", name="Create schedule").click()
    expect(sheet.get_by_role("alert").first).to_be_visible()
    found += violations(panel)
    sheet.get_by_label("Name").fill("Typed")
    panel.keyboard.press("Escape")
    found += violations(panel)
    assert not found


def test_an_open_menu_is_clean_and_moves_by_arrows(panel: Page, make: Any):
    schedule = make("Briefing")
    look(panel)
    more = panel.locator(f"#s-{schedule.public_id}-more")
    more.focus()
    panel.keyboard.press("Enter")
    menu = panel.locator(f"#menu-{schedule.public_id}")
    expect(menu.get_by_role("button", name="Run now")).to_be_focused()
    assert not violations(panel)
    panel.keyboard.press("ArrowDown")
    expect(menu.get_by_role("link", name="Edit")).to_be_focused()
    panel.keyboard.press("End")
    expect(menu.get_by_role("link", name="Delete…")).to_be_focused()
    panel.keyboard.press("Escape")
    expect(more).to_be_focused()


def test_the_first_tab_stop_skips_to_the_list_and_n_opens_the_dialog(panel: Page, make: Any):
    make("Briefing")
    panel.reload()
    panel.keyboard.press("Tab")
    expect(panel.get_by_role("link", name="Skip to the list")).to_be_focused()
    panel.keyboard.press("n")
    expect(panel.get_by_role("dialog")).to_be_visible()
    panel.keyboard.type("n")
    expect(panel.get_by_label("Name")).to_have_value("n")


def test_shortcuts_can_be_switched_off(panel: Page, make: Any):
    make("Briefing")
    panel.reload()
    panel.get_by_role("button", name="Alice’s account").click()
    panel.get_by_role("button", name="Shortcuts").click()
    panel.keyboard.press("Escape")
    panel.keyboard.press("n")
    panel.wait_for_timeout(300)
    expect(panel.get_by_role("dialog")).to_have_count(0)
