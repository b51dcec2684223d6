"""Asking for the deletion of one's account, the page of the grace, and the way back, in a browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import DeletionRequest
from schedules.models import Schedule
from tests.browser.panel.test_accessible import violations
from tests.factories import PASSWORD

pytestmark = pytest.mark.browser


@pytest.fixture
def scripts() -> bool:
    return True


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any], scripts: bool) -> dict[str, Any]:
    return {**browser_context_args, "java_script_enabled": scripts, "viewport": {"width": 360, "height": 640}}


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_an_account_is_asked_to_be_deleted_and_kept(panel: Page, make: Any, live_server: Any):
    schedule = make("Morning")
    panel.goto(f"{live_server.url}/settings/")
    panel.get_by_role("link", name="Delete account").click()
    expect(panel.get_by_text("1 schedule", exact=True)).to_be_visible()
    panel.get_by_role("button", name="Delete my account").click()
    expect(panel.locator("#password-e")).to_have_attribute("data-code", "required")
    panel.get_by_label("Password").fill(PASSWORD)
    panel.get_by_role("button", name="Delete my account").click()
    expect(panel.get_by_role("heading", name="Your account is being deleted")).to_be_visible()
    assert DeletionRequest.objects.get().state == "requested"
    with panel.expect_download() as loading:
        panel.get_by_role("link", name="Download everything").click()
    assert loading.value.suggested_filename.endswith(".zip")
    panel.goto(f"{live_server.url}/panel/")
    panel.get_by_role("link", name="Call it off, or hasten it").click()
    panel.get_by_role("button", name="Keep my account").click()
    expect(panel.get_by_text("Your account stays.")).to_be_visible()
    assert DeletionRequest.objects.get().state == "cancelled"
    assert Schedule.objects.get(pk=schedule.pk).is_on


def test_both_faces_of_the_page_are_clean_and_fit(panel: Page, live_server: Any):
    """quality.md, Accessibility."""
    panel.goto(f"{live_server.url}/settings/deletion/")
    found = violations(panel)
    panel.get_by_label("Password").fill(PASSWORD)
    panel.get_by_role("button", name="Delete my account").click()
    expect(panel.get_by_role("button", name="Keep my account")).to_be_visible()
    found += violations(panel)
    assert not found
    assert panel.evaluate("document.documentElement.scrollWidth") <= 360
