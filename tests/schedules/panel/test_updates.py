"""Looks: nothing when nothing changed, only the changed cards, and how soon to look again."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from schedules.models import Schedule
from schedules.outputs.panel import seconds_to_next_look
from tests.schedules.panel.pages import FRAGMENT, card_of, signed_in, version_of


def looked(client: Any, etag: str = "", have: str = "") -> Any:
    headers = {**FRAGMENT, **({"If-None-Match": etag} if etag else {})}
    return client.get("/panel/updates", {"have": have}, headers=headers)


def test_a_look_at_an_unchanged_list_is_answered_304(alice, make, ticking):
    make("Briefing")
    client = signed_in(alice)
    first = looked(client)
    again = looked(client, first["ETag"])
    assert again.status_code == 304
    assert again.content == b""
    assert again["Quotidian-Every"] == first["Quotidian-Every"] == "15"


def test_the_page_carries_the_version_its_first_look_names(alice, make, ticking):
    make("Briefing")
    client = signed_in(alice)
    etag = re.search(r'data-etag="(\w+)"', client.get("/panel/").content.decode()).group(1)  # type: ignore[union-attr]
    assert looked(client, f'"{etag}"').status_code == 304
    assert looked(client, f'W/"{etag}"').status_code == 304


def test_only_changed_cards_are_written_out_and_the_others_keep_their_place(alice, make, ticking):
    """interfaces.md, Side panel: updates."""
    same, other = make("Same"), make("Other")
    client = signed_in(alice)
    page = looked(client).content.decode()
    have = f"{version_of(page, same.public_id)}.{version_of(page, other.public_id)}"
    Schedule.objects.filter(pk=other.pk).update(name="Another")
    update = looked(client, have=have).content.decode()
    assert card_of(update, same.public_id) == f'<article class="card" id="s-{same.public_id}" data-keep></article>'
    assert "Another" in card_of(update, other.public_id)


def test_a_look_never_keeps_a_card_that_the_asker_does_not_have(alice, make, ticking):
    schedule = make("Briefing")
    update = looked(signed_in(alice), have="0123456789abcdef").content.decode()
    assert "data-keep" not in card_of(update, schedule.public_id)


def test_the_tabs_the_foot_and_the_banner_come_with_a_look(alice, make, ticking):
    make("Briefing")
    update = looked(signed_in(alice)).content.decode()
    for part in ("panel-top", "panel-foot", "standing"):
        assert f'id="{part}" hx-swap-oob="morph"' in update


def test_a_signed_out_look_is_told_so_and_a_page_goes_to_sign_in(client, db):
    assert client.get("/panel/updates", headers=FRAGMENT).status_code == 401
    assert client.get("/panel/")["Location"] == "/accounts/login/?next=/panel/"


@pytest.mark.parametrize(
    ("card", "seconds"),
    [
        ({"lives": [], "next_at": ""}, 15),
        ({"lives": [], "next_at": 3600}, 15),
        ({"lives": [], "next_at": 59}, 2),
        ({"lives": [{"s": "blocked"}], "next_at": ""}, 15),
        ({"lives": [{"s": "running"}], "next_at": ""}, 1),
        ({"lives": [{"s": "queued"}], "next_at": 3600}, 1),
    ],
)
def test_the_next_look_is_soon_only_while_something_is_near(card: dict[str, Any], seconds: float, moment):
    at = card["next_at"]
    due = (moment + timedelta(seconds=at)).isoformat() if at else ""
    assert seconds_to_next_look([card | {"next_at": due}], moment) == seconds
