"""`/usage/`: the page, its drawing without inline style, and the table to take away."""

import csv
import io
import re
from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.models import LimitSet
from accounts.services.spend import credit_grant
from chats.panel.usage_view import _top, percent, short
from core.clock import now as clock_now
from tests.chats.api.test_usage import use
from tests.factories import make_agent, make_model, make_schedule
from tests.schedules.panel.pages import signed_in, words

pytestmark = pytest.mark.django_db


def test_a_month_without_usage_says_so_and_draws_nothing(alice):
    page = signed_in(alice).get("/usage/").content.decode()
    assert "Nothing was used in this month" in words(page)
    assert "<figure" not in page


def test_the_page_says_how_much_of_the_month_is_spent_and_on_what(alice):
    agent = make_agent(model=make_model(label="Large"), name="Helper")
    schedule = make_schedule(owner=alice, agent=agent, name="Morning <b>")
    use(alice, 1, schedule=schedule.public_id, agent=agent.public_id, model=agent.model.public_id)
    use(alice, 2, schedule="sch_gone")
    use(alice, 3, kind="person", cost=Decimal("0.15"), estimated=True)
    LimitSet.objects.create(scope="user", user=alice, monthly_spend=Decimal("1.50"), updated_at=clock_now())
    page = signed_in(alice).get("/usage/").content.decode()
    said = words(page)
    assert "0.75" in said
    assert "of 1.50 a month" in said
    assert "partly estimated" in said
    for name in ("Morning <b>", "Deleted schedule", "Conversations you started", "Helper", "Large"):
        assert name in said or name.replace("<b>", "&lt;b&gt;") in page
    assert f'href="/schedules/{schedule.public_id}/"' in page
    assert 'rect width="50%"' in page
    assert " style=" not in page
    assert len(re.findall(r'<rect fill="currentColor"', page)) == 1


def test_a_used_up_month_says_from_when_on_it_runs_again(alice):
    use(alice, 1)
    LimitSet.objects.create(scope="user", user=alice, monthly_spend=Decimal("0.30"), updated_at=clock_now())
    assert "Used up: what falls due is skipped until 1 " in words(signed_in(alice).get("/usage/").content.decode())


def test_a_credit_is_shown_with_what_was_granted(alice):
    credit_grant(user=alice, amount=Decimal("2.00"), reason="For the pilot", now=clock_now())
    said = words(signed_in(alice).get("/usage/").content.decode())
    assert "Credit left" in said
    assert "For the pilot" in said


def test_without_prices_tokens_are_shown_and_no_bars(alice):
    use(alice, 1, cost=None)
    page = signed_in(alice).get("/usage/").content.decode()
    assert "No price is known" in words(page)
    assert "<figure" not in page


@pytest.mark.parametrize("month", ["", "2026-13", "now", "9999-12", "1999-01", "2026-06-01", "'"])
def test_a_month_that_cannot_be_read_is_this_one(alice, month):
    use(alice, 1)
    answer = signed_in(alice).get("/usage/", {"month": month})
    assert answer.status_code == 200
    assert "0.30" in words(answer.content.decode())


def test_an_earlier_month_is_shown_by_itself(alice):
    use(alice, 1)
    use(alice, 2, days_ago=70, cost=Decimal("0.77"))
    month = (clock_now() - timedelta(days=70)).date()
    said = words(signed_in(alice).get("/usage/", {"month": f"{month:%Y-%m}"}).content.decode())
    assert "0.77" in said
    assert "0.30" not in said


def test_the_table_has_a_row_for_each_day_schedule_agent_and_model_and_no_formula(alice, bob):
    schedule = make_schedule(owner=alice, name="=HYPERLINK(1)")
    use(alice, 1, schedule=schedule.public_id)
    use(alice, 2, schedule=schedule.public_id)
    use(alice, 3, kind="person", cost=None)
    use(bob, 4)
    answer = signed_in(alice).get("/usage/export")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [(row["schedule_name"], row["started_by"], row["turns"], row["cost"]) for row in rows] == [
        ("", "person", "1", "0.000000"), ("'=HYPERLINK(1)", "schedule", "2", "0.600000"),
    ]  # fmt: skip
    assert answer["Content-Disposition"].startswith('attachment; filename="usage-20')


def test_pages_need_a_sign_in(client):
    assert client.get("/usage/").status_code == client.get("/usage/export").status_code == 302


def test_figures_are_said_as_they_are_read():
    assert [short(n) for n in (812, 45_400, 1_900_000)] == ["812", "45 thousand", "1.9 million"]
    assert [percent(Decimal(part), Decimal(2)) for part in ("0", "1", "2", "3")] == [0, 50, 100, 100]
    assert percent(Decimal(0), Decimal(0)) == 100
    assert [_top(Decimal(amount)) for amount in ("0.31", "0.09", "7", "10")] == [
        Decimal("0.5"), Decimal("0.1"), Decimal(10), Decimal(10),
    ]  # fmt: skip
