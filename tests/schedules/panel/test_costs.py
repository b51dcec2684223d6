"""What the dialog says a schedule costs, and the budget that is typed there."""

from decimal import Decimal

import pytest

from accounts.models import User
from schedules.models import Schedule
from tests.factories import make_agent, make_model
from tests.schedules.forms import PageForm
from tests.schedules.panel.pages import signed_in, words
from tests.support.spending import priced

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(alice, ticking):
    """What the create page posts when only name and prompt are typed, on an agent with prices."""
    priced(name="Researcher")
    page = signed_in(alice).get("/schedules/new").content.decode()
    return PageForm(page, "schedule-form").posted | {"name": ["Briefing"], "prompt": ["word " * 6_000]}


def preview(user, form):
    return words(signed_in(user).post("/schedules/preview", form).content.decode())


def test_before_the_first_run_the_prompt_is_what_it_costs_at_least(alice, filled):
    said = preview(alice, filled | {"kind": ["daily"], "time": ["09:00"]})
    assert "At least 0.022 per run, 0.675 a month: the prompt alone" in said


def test_after_runs_it_is_what_the_dearest_of_them_cost(alice, filled):
    signed_in(alice).post("/schedules/new", filled)
    Schedule.objects.update(recent_costs=["0.120000", "0.050000"])
    page = signed_in(alice).get(f"/schedules/{Schedule.objects.get().public_id}/edit").content.decode()
    assert "About 0.120 per run" in words(page)
    form = PageForm(page, "schedule-form").posted
    assert "About 0.120 per run, 3.60 a month." in preview(alice, form | {"kind": ["daily"], "time": ["09:00"]})


def test_somebody_elses_schedule_says_nothing_of_its_costs(alice, bob, filled):
    signed_in(alice).post("/schedules/new", filled)
    Schedule.objects.update(recent_costs=["7.000000"])
    theirs = Schedule.objects.get().public_id
    assert "7.00" not in preview(bob, filled | {"schedule": [theirs]})


def test_without_a_price_nothing_is_said(alice, filled):
    free = make_agent(model=make_model(), name="Free")
    said = preview(alice, filled | {"agent": [free.public_id]})
    assert "per run" not in said


@pytest.mark.parametrize(("typed", "stored"), [("12.50", "12.50"), ("0,75", "0.75"), (" 3 ", "3.00"), ("", None)])
def test_a_budget_is_typed_stored_and_shown_again(alice, filled, typed, stored):
    signed_in(alice).post("/schedules/new", filled | {"monthly_budget": [typed]})
    made = Schedule.objects.get()
    assert made.monthly_budget == (stored and Decimal(stored))
    assert User.objects.get(pk=alice.pk).budgeted is (stored is not None)
    page = signed_in(alice).get(f"/schedules/{made.public_id}/edit").content.decode()
    assert PageForm(page, "schedule-form").posted["monthly_budget"] == [stored or ""]


def test_what_is_no_amount_is_refused_at_the_field_with_what_was_typed(alice, filled):
    answer = signed_in(alice).post("/schedules/new", filled | {"monthly_budget": ["lots"]})
    assert answer.status_code == 400
    page = answer.content.decode()
    assert 'value="lots"' in page
    assert 'data-code="wrong_type"' in page


def test_an_untouched_budget_is_no_change(alice, filled):
    """B24"""
    client = signed_in(alice)
    client.post("/schedules/new", filled | {"monthly_budget": ["5.00"]})
    made = Schedule.objects.get()
    page = client.get(f"/schedules/{made.public_id}/edit").content.decode()
    client.post(f"/schedules/{made.public_id}/edit", PageForm(page, "schedule-form").posted)
    assert Schedule.objects.get().revision == made.revision


def test_the_schedules_page_says_how_much_of_the_budget_is_spent(alice, filled):
    client = signed_in(alice)
    client.post("/schedules/new", filled | {"monthly_budget": ["5.00"]})
    said = words(client.get(f"/schedules/{Schedule.objects.get().public_id}/").content.decode())
    assert "0.00 of 5.00 so far" in said
