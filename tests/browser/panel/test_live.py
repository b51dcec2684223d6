"""The panel and a conversation follow what happens, without reloading and without taking anything from the reader."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chats.models import Message, Turn
from schedules.models import Run, Schedule
from tests import factories

pytestmark = pytest.mark.browser


def started(schedule: Schedule, moment: Any, text: str = "") -> Run:
    """Write what a worker writes when a run has started."""
    conversation = factories.make_conversation(owner=schedule.owner, title=schedule.name, now=moment)
    turn = factories.make_turn(
        owner=schedule.owner, agent=schedule.agent, origin="schedule", conversation=conversation, now=moment,
        status="running", fence=1, leased_by="w", lease_expires_at=moment + timedelta(hours=1), started_at=moment,
    )  # fmt: skip
    common = {"conversation": conversation, "turn": turn, "created_at": moment}
    Message.objects.create(sequence=1, role="user", text=schedule.prompt, **common)
    Message.objects.create(
        sequence=2, role="assistant", text=text, state="streaming", source={"agent": "Researcher"}, **common
    )
    return factories.make_run(
        schedule=schedule, status="running", turn=turn, conversation=conversation, now=moment, started_at=moment
    )


def grow(run: Run, text: str) -> None:
    Message.objects.filter(turn=run.turn_id, role="assistant").update(text=text)


def finish(run: Run, moment: Any) -> None:
    """Write what a worker writes when a run has ended well."""
    Message.objects.filter(turn=run.turn_id).update(state="complete")
    Turn.objects.filter(pk=run.turn_id).update(status="completed", settled_at=moment, lease_expires_at=None)
    Run.objects.filter(pk=run.pk).update(status="succeeded", settled_at=moment, duration_seconds=72)
    Schedule.objects.filter(pk=run.schedule_id).update(last_run=run)


def look(page: Page) -> None:
    page.evaluate("document.body.dispatchEvent(new Event('changed'))")


def test_a_card_goes_from_armed_to_running_to_succeeded_without_reloading(panel: Page, make: Any, moment: Any):
    schedule = make("Release watch")
    look(panel)
    card = panel.locator(f"#s-{schedule.public_id}")
    expect(card).to_have_attribute("data-s", "armed")
    panel.evaluate("window.same = true")
    run = started(schedule, moment, "Two of")
    look(panel)
    expect(card).to_have_attribute("data-s", "running")
    expect(card.locator(".line")).to_have_text("Two of")
    grow(run, "Two of the nine projects")
    expect(card.locator(".line")).to_have_text("Two of the nine projects")
    expect(card.get_by_role("button", name="Stop Release watch")).to_be_visible()
    finish(run, moment)
    expect(card).to_have_attribute("data-s", "armed")
    expect(card.locator(".last")).to_contain_text("1 min 12 s")
    expect(panel.locator("#announce")).to_have_text("Release watch: succeeded", timeout=12_000)
    assert panel.evaluate("window.same")


def test_the_switch_keeps_focus_and_says_its_new_state(panel: Page, make: Any):
    schedule = make("Briefing")
    look(panel)
    switch = panel.get_by_role("switch", name="Briefing on schedule")
    switch.focus()
    panel.keyboard.press("Space")
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(switch).to_be_focused()
    panel.get_by_role("button", name="Undo").click()
    expect(switch).to_have_attribute("aria-checked", "true")
    assert Schedule.objects.get(pk=schedule.pk).enabled


def test_a_card_that_did_not_change_is_the_same_element(panel: Page, make: Any, moment: Any):
    """Nothing moves that did not change."""
    same, other = make("Same"), make("Other")
    look(panel)
    panel.locator(f"#s-{same.public_id}").evaluate("element => { element.mine = true }")
    Schedule.objects.filter(pk=other.pk).update(name="Another name")
    look(panel)
    expect(panel.locator(f"#s-{other.public_id}")).to_contain_text("Another name")
    assert panel.locator(f"#s-{same.public_id}").evaluate("element => element.mine")


def test_an_open_menu_is_left_alone(panel: Page, make: Any):
    schedule = make("Briefing")
    look(panel)
    panel.locator(f"#s-{schedule.public_id}-more").click()
    menu = panel.locator(f"#menu-{schedule.public_id}")
    expect(menu.get_by_role("link", name="Edit")).to_be_visible()
    Schedule.objects.filter(pk=schedule.pk).update(name="Another name")
    look(panel)
    panel.wait_for_timeout(1_500)
    expect(menu.get_by_role("link", name="Edit")).to_be_visible()
    expect(panel.locator(f"#s-{schedule.public_id}")).not_to_contain_text("Another name")
    panel.keyboard.press("Escape")
    expect(panel.locator(f"#s-{schedule.public_id}")).to_contain_text("Another name")


def test_focus_goes_to_the_neighbour_when_the_card_leaves(panel: Page, make: Any):
    first, second = make("First"), make("Second")
    look(panel)
    panel.locator(f"#s-{first.public_id} h3 a").focus()
    first.delete()
    look(panel)
    expect(panel.locator(f"#s-{first.public_id}")).to_have_count(0)
    expect(panel.locator(f"#s-{second.public_id} h3 a")).to_be_focused()


def test_a_list_that_cannot_be_loaded_stays_and_says_so(panel: Page, make: Any):
    """Never an empty list."""
    make("Briefing")
    look(panel)
    expect(panel.locator("article.card")).to_have_count(1)
    panel.context.set_offline(True)
    for _try in range(2):
        look(panel)
        panel.wait_for_timeout(300)
    expect(panel.get_by_text("The list could not be loaded.")).to_be_visible()
    expect(panel.locator("article.card")).to_have_count(1)
    panel.context.set_offline(False)
    panel.get_by_role("button", name="Try again").click()
    expect(panel.get_by_text("The list could not be loaded.")).to_be_hidden()


def test_a_conversation_grows_and_ends_without_reloading(panel: Page, live_server: Any, make: Any, moment: Any):
    schedule = make("Release watch")
    run = started(schedule, moment, "Two of")
    panel.goto(f"{live_server.url}/c/{run.conversation.public_id}")
    answer = panel.locator(".msg").last
    expect(answer).to_have_attribute("aria-busy", "true")
    panel.evaluate("window.same = true")
    grow(run, "Two of the **nine** projects")
    expect(answer.locator("strong")).to_have_text("nine")
    finish(run, moment)
    expect(answer).not_to_have_attribute("aria-busy", "true")
    expect(panel.locator("#stop")).to_have_count(0)
    expect(panel.locator("aside .card")).to_have_count(1)
    assert panel.evaluate("window.same")


def test_the_search_finds_while_it_is_typed(panel: Page, make: Any):
    make("Briefing")
    make("Price check")
    look(panel)
    panel.keyboard.press("/")
    expect(panel.locator("#search")).to_be_focused()
    panel.keyboard.type("pri")
    expect(panel.locator("article.card")).to_have_count(1)
    expect(panel.locator("#search")).to_be_focused()
    expect(panel.locator("#search")).to_have_value("pri")
