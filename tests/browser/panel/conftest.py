"""A real browser on a real server over the test's own rows: no worker, states are written as a worker writes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import BrowserContext, ConsoleMessage, Page

from chats.models import WorkerHost
from core.clock import now as clock_now
from schedules.models import Schedule
from tests import factories

# Playwright's own loop runs in this thread; the tests read and write rows between its calls, never inside one.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")


@pytest.fixture
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    return {**browser_context_args, "timezone_id": "Europe/Berlin", "viewport": {"width": 1280, "height": 720}}


@pytest.fixture
def alice(transactional_db: None) -> Any:
    return factories.make_user("alice@example.com", display_name="Alice", zone="Europe/Berlin")


@pytest.fixture
def moment(alice: Any) -> Any:
    now = clock_now()
    ahead = now + timedelta(days=1)  # no clock ticks here; none of these tests is about its silence
    WorkerHost.objects.create(name="host", hostname="host", started_at=now, clock_at=ahead)
    return now


@pytest.fixture
def make(alice: Any, moment: Any) -> Any:
    agent = factories.make_agent(name="Researcher", description="Searches and reads")

    def made(name: str, **fields: Any) -> Schedule:
        return factories.make_schedule(owner=alice, name=name, now=moment, **{"armed": True, "agent": agent, **fields})

    return made


def sign_in(context: BrowserContext, live_server: Any, user: Any) -> None:
    client = Client()
    client.force_login(user)
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "url": live_server.url}])


@pytest.fixture
def panel(page: Page, live_server: Any, alice: Any, moment: Any) -> Iterator[Page]:
    """Alice's panel, open; afterwards the browser's console must have stayed silent."""
    said: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        # A look that is still under way when the page is left is aborted, and htmx says so.
        expected = message.text.startswith(
            ("Failed to load resource", "htmx:sendError", "htmx:sendAbort", "htmx:afterRequest")
        )
        if message.type in ("error", "warning") and not expected:
            said.append(message.text)

    page.on("console", listen)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_default_timeout(10_000)
    sign_in(page.context, live_server, alice)
    page.goto(f"{live_server.url}/panel/")
    yield page
    assert not said
