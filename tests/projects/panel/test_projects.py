"""Pages of projects: make, find, change, archive, and delete without losing what files into it."""

from __future__ import annotations

from typing import Any

import pytest

from projects.models import ChatProject
from projects.services.policies import policy_set
from tests.factories import NOW
from tests.schedules.panel.pages import FRAGMENT, signed_in, words


def test_making_one_leads_to_its_page(alice):
    response = signed_in(alice).post("/projects/new", {"name": "Shop", "description": "All of it", "colour": "3"})
    project = ChatProject.objects.get()
    assert response["Location"] == f"/projects/{project.public_id}/"
    assert (project.name, project.description, project.colour) == ("Shop", "All of it", 3)


@pytest.mark.parametrize(("name", "code"), [("", "required"), ("x" * 101, "too_long"), ("SHOP ", "name_taken")])
def test_a_name_that_cannot_be_is_refused_at_its_field_and_kept(alice, make_project, name, code):
    make_project(owner=alice, name="Shop")
    response = signed_in(alice).post("/projects/new", {"name": name, "description": "Kept"}, headers=FRAGMENT)
    page = response.content.decode()
    assert response.status_code == 400
    assert f'id="name-e" data-code="{code}"' in page
    assert "Kept" in page


def test_the_list_counts_what_is_filed_and_searches(alice, make_project, make_conversation, make_schedule):
    shop, home = make_project(owner=alice, name="Shop"), make_project(owner=alice, name="Home")
    for _ in range(2):
        make_conversation(owner=alice, project=shop)
    make_schedule(owner=alice, project=shop)
    client = signed_in(alice)
    page = words(client.get("/projects/").content.decode())
    assert "2 conversations · 1 schedule files here" in page
    found = client.get("/projects/", {"q": "sho"}).content.decode()
    assert shop.public_id in found
    assert home.public_id not in found


def test_its_page_lists_conversations_and_the_schedules_that_file_into_it(
    alice, make_project, make_conversation, make_schedule
):
    shop = make_project(owner=alice, name="Shop")
    conversation = make_conversation(owner=alice, project=shop, title="An answer")
    schedule = make_schedule(owner=alice, project=shop, name="Price check")
    page = signed_in(alice).get(f"/projects/{shop.public_id}/").content.decode()
    assert f'href="/c/{conversation.public_id}">An answer' in page
    assert f'href="/schedules/{schedule.public_id}/">Price check' in page


def test_archiving_and_bringing_back_keeps_everything(alice, make_project):
    shop = make_project(owner=alice, name="Shop")
    client = signed_in(alice)
    client.post(f"/projects/{shop.public_id}/archive", {"archived": "on"})
    assert "archived" in words(client.get("/projects/").content.decode())
    client.post(f"/projects/{shop.public_id}/archive")
    shop.refresh_from_db()
    assert shop.archived_at is None


def test_deleting_names_the_schedules_and_offers_to_move_them(alice, make_project, make_schedule):
    """projects.md: the confirmation names the schedules and offers to move them in the same act."""
    shop, home = make_project(owner=alice, name="Shop"), make_project(owner=alice, name="Home")
    schedule = make_schedule(owner=alice, project=shop, name="Price check")
    client = signed_in(alice)
    page = client.get(f"/projects/{shop.public_id}/delete").content.decode()
    assert "Price check" in page
    assert f'<option value="{home.public_id}">Home</option>' in page
    client.post(f"/projects/{shop.public_id}/delete", {"move_to": home.public_id})
    schedule.refresh_from_db()
    assert schedule.project == home
    assert client.get(f"/projects/{shop.public_id}/").status_code == 404


@pytest.mark.parametrize(("choice", "left"), [("none", False), ("keep", True)])
def test_schedules_may_go_to_no_project_or_be_decided_later(alice, make_project, make_schedule, choice, left):
    """ "Gone" is never read as "none"."""
    shop = make_project(owner=alice, name="Shop")
    schedule = make_schedule(owner=alice, project=shop)
    signed_in(alice).post(f"/projects/{shop.public_id}/delete", {"move_to": choice})
    schedule.refresh_from_db()
    assert (schedule.project_id == shop.pk) is left


def test_somebody_elses_project_is_no_place_to_move_to(alice, bob, make_project, make_schedule):
    """P15"""
    shop, other = make_project(owner=alice, name="Shop"), make_project(owner=bob)
    make_schedule(owner=alice, project=shop)
    response = signed_in(alice).post(f"/projects/{shop.public_id}/delete", {"move_to": other.public_id})
    assert response.status_code == 400
    assert not ChatProject.objects.get(pk=shop.pk).deleted_at


def test_a_pinned_project_says_who_holds_it_and_offers_no_change(alice, make_project):
    shop: Any = make_project(owner=alice, name="Shop")
    policy_set(scope="deployment", values={"pinned_project": "Shop"}, now=NOW)
    client = signed_in(alice)
    page = client.get(f"/projects/{shop.public_id}/").content.decode()
    assert "An operator set this project for your schedules." in page
    assert f"/projects/{shop.public_id}/delete" not in page
    assert client.post(f"/projects/{shop.public_id}/delete").status_code == 409
