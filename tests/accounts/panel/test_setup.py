"""The first account by its one-time link, signing in and out, and how the pages look to a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import SetupLink, User
from accounts.services.users import setup_link_make
from core.clock import now as clock_now
from tests.factories import PASSWORD
from tests.schedules.panel.pages import signed_in, words

TYPED = {"email": "olivia@example.com", "password": PASSWORD, "zone": "Europe/Berlin"}


@pytest.fixture
def link(db: None) -> str:
    token = setup_link_make(now=clock_now())
    return f"/setup/{token}"


def test_the_link_makes_the_first_operator_and_signs_in(client: Any, link: str):
    assert "Make it yours" in client.get(link).content.decode()
    response = client.post(link, TYPED)
    assert response["Location"] == "/panel/"
    olivia = User.objects.get()
    assert (olivia.email, olivia.zone, olivia.is_staff) == ("olivia@example.com", "Europe/Berlin", True)
    assert client.get("/panel/").status_code == 200


def test_the_link_works_once(client: Any, link: str):
    client.post(link, TYPED)
    for response in (client.get(link), client.post(link, TYPED | {"email": "bob@example.com"})):
        assert response.status_code == 410
        assert 'data-code="setup_link_invalid"' in response.content.decode()
    assert User.objects.count() == 1


def test_the_link_ends_after_a_day(client: Any, link: str):
    SetupLink.objects.update(created_at=clock_now() - timedelta(hours=24, seconds=1))
    assert client.get(link).status_code == 410


def test_a_guessed_link_leads_nowhere(client: Any, link: str):
    assert client.get("/setup/guess").status_code == 410


@pytest.mark.parametrize(
    ("typed", "field", "code"),
    [
        ({"password": "abcdefgh"}, "password", "password_weak"),
        ({"email": ""}, "email", "required"),
        ({"email": "nobody"}, "email", "wrong_type"),
        ({"zone": "Nowhere/Zone"}, "zone", "zone_unknown"),
    ],
)
def test_a_refused_field_says_why_in_place_and_leaves_the_link_usable(
    client: Any, link: str, typed: dict[str, str], field: str, code: str
):
    response = client.post(link, TYPED | typed)
    page = response.content.decode()
    assert response.status_code == 400
    assert f'id="{field}-e" data-code="{code}"' in page
    assert PASSWORD not in page
    assert client.post(link, TYPED).status_code == 303


def test_the_start_page_leads_where_there_is_something(client: Any, db: None, link: str):
    assert "Open the set-up link." in client.get("/").content.decode()
    client.post(link, TYPED)
    assert client.get("/")["Location"] == "/panel/"


def test_signing_in_and_out(client: Any, alice: Any):
    page = client.get("/accounts/login/?next=/runs/").content.decode()
    assert 'name="next" value="/runs/"' in page.replace('type="hidden" ', "")
    wrong = client.post("/accounts/login/", {"login": alice.email, "password": "wrong"})
    assert 'data-code="sign_in_failed"' in wrong.content.decode()
    right = client.post("/accounts/login/", {"login": alice.email, "password": PASSWORD, "next": "/runs/"})
    assert right["Location"] == "/runs/"
    assert client.get("/accounts/logout/").status_code == 200
    assert client.get("/runs/").status_code == 200
    client.post("/accounts/logout/")
    assert client.get("/runs/").status_code == 302


def test_the_theme_is_the_persons_own_and_written_on_the_page(alice: Any):
    client = signed_in(alice)
    assert "data-theme" not in client.get("/settings/").content.decode()
    response = client.post("/theme", {"theme": "dark", "next": "/settings/"})
    assert response["Location"] == "/settings/"
    assert '<html lang="en" data-theme="dark">' in client.get("/settings/").content.decode()
    assert client.post("/theme", {"theme": "pink"}).status_code == 400


def test_settings_are_kept_and_a_wrong_one_stands_at_its_field(alice: Any):
    client = signed_in(alice)
    typed = {
        "display_name": "Alice B.",
        "zone": "America/New_York",
        "clock": "12",
        "first_weekday": "6",
        "theme": "light",
    }
    client.post("/settings/", typed)
    alice.refresh_from_db()
    assert (alice.display_name, alice.zone, alice.clock, alice.first_weekday) == (
        "Alice B.",
        "America/New_York",
        "12",
        6,
    )
    response = client.post("/settings/", typed | {"zone": "Nowhere/Zone", "display_name": "Kept"})
    assert 'id="zone-e" data-code="zone_unknown"' in response.content.decode()
    assert 'value="Kept"' in response.content.decode()
    alice.refresh_from_db()
    assert alice.zone == "America/New_York"


def test_a_page_that_needs_no_account_has_the_design_and_no_script_inside(client: Any, db: None):
    page = client.get("/accounts/password/reset/").content.decode()
    assert "tokens.css" in page
    assert "style=" not in page
    assert "onclick" not in page
    assert "Quotidian" in words(page)
