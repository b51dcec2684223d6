"""`/api/v1/usage` (wire.md)."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.models import LimitSet, UsageEntry
from accounts.services.spend import credit_grant
from core.clock import now as clock_now
from tests.factories import make_agent, make_model, make_schedule, make_turn
from tests.support.calls import caller, field_codes

URL = "/api/v1/usage"
pytestmark = pytest.mark.django_db


def use(owner, number=0, *, days_ago=0, **fields):
    """Add an entry of `owner`, so many days before today."""
    at = clock_now() - timedelta(days=days_ago)
    usual = {"turn": f"trn_{owner.pk}_{number}", "kind": "schedule", "input_tokens": 100, "output_tokens": 20}
    usual |= {"cost": Decimal("0.30"), "day": at.date(), "created_at": at, "key": f"{owner.pk}:{number}"}
    return UsageEntry.objects.create(owner=owner, **usual | fields)


def test_the_month_is_added_up_by_day_and_says_where_i_stand(alice, bob):
    use(alice, 1)
    use(alice, 2, cost=Decimal("0.1234"), estimated=True)
    use(bob, 3, cost=Decimal(9))
    LimitSet.objects.create(scope="user", user=alice, monthly_spend=Decimal(5), updated_at=clock_now())
    make_turn(
        owner=alice, status="running", fence=1, leased_by="x", lease_expires_at=clock_now(), reserved=Decimal("0.07")
    )
    shown = caller(alice).get(URL).json()
    today = clock_now().date()
    assert shown["results"] == [
        {
            "key": today.isoformat(), "name": None, "turns": 2, "input_tokens": 200, "cached_tokens": 0,
            "output_tokens": 40, "cost": "0.4234", "estimated": True,
        }
    ]  # fmt: skip
    assert shown["this_month"] == {
        "month": f"{today:%Y-%m}", "spent": "0.4234", "reserved": "0.07", "most": "5.00", "balance": None,
        "resumes_on": (today.replace(day=1) + timedelta(days=32)).replace(day=1).isoformat(),
    }  # fmt: skip
    assert (shown["total"]["cost"], shown["by"], shown["until"]) == ("0.4234", "day", today.isoformat())


def test_names_are_those_of_what_is_there_and_null_for_what_is_gone(alice):
    agent = make_agent(model=make_model(label="Large"), name="Helper")
    schedule = make_schedule(owner=alice, agent=agent, name="Morning")
    use(alice, 1, schedule=schedule.public_id, agent=agent.public_id, model=agent.model.public_id)
    use(alice, 2, schedule="sch_gone", cost=Decimal("0.20"))
    use(alice, 3, kind="person", cost=Decimal("0.10"))
    by = {name: caller(alice).get(f"{URL}?by={name}").json()["results"] for name in ("schedule", "agent", "model")}
    named = [(row["key"], row["name"], row["cost"]) for row in by["schedule"]]
    assert named == [(schedule.public_id, "Morning", "0.30"), ("sch_gone", None, "0.20"), (None, None, "0.10")]
    assert {row["name"] for row in by["agent"]} == {"Helper", None}
    assert {row["name"] for row in by["model"]} == {"Large", None}


def test_a_schedule_of_somebody_else_is_never_named(alice, bob):
    """P15: an id in one's own ledger opens nothing."""
    theirs = make_schedule(owner=bob, name="Theirs")
    use(alice, 1, schedule=theirs.public_id)
    assert caller(alice).get(f"{URL}?by=schedule").json()["results"][0]["name"] is None


def test_a_credit_is_shown(alice):
    credit_grant(user=alice, amount=Decimal("5.50"), reason="A start", now=clock_now())
    assert caller(alice).get(URL).json()["this_month"]["balance"] == "5.50"


def test_days_are_chosen(alice):
    use(alice, 1, days_ago=40)
    use(alice, 2)
    day = (clock_now() - timedelta(days=40)).date().isoformat()
    shown = caller(alice).get(f"{URL}?since={day}&until={day}").json()
    assert (shown["total"]["turns"], shown["since"], shown["until"]) == (1, day, day)


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ("by=colour", {"by": ["choice_unknown"]}),
        ("since=yesterday", {"since": ["wrong_type"]}),
        ("since=2026-02-30", {"since": ["wrong_type"]}),
        ("since=2026-02-02&until=2026-02-01", {"since": ["out_of_range"]}),
        ("since=2020-01-01&until=2026-02-01", {"since": ["out_of_range"]}),
        ("month=2026-02", {"month": ["filter_unknown"]}),
    ],
)
def test_what_cannot_be_asked_is_refused_at_its_name(alice, query, codes):
    answer = caller(alice).get(f"{URL}?{query}")
    assert (answer.status_code, field_codes(answer)) == (400, codes)


def test_a_page_costs_the_same_with_many_schedules(alice, django_assert_max_num_queries):
    for number in range(30):
        use(alice, number, schedule=make_schedule(owner=alice).public_id)
    client = caller(alice)
    with django_assert_max_num_queries(10):
        assert len(client.get(f"{URL}?by=schedule").json()["results"]) == 30


def test_an_export_has_what_was_used(alice):
    from chats.outputs import usage_export

    assert list(usage_export(alice)) == []
    use(alice, 1, days_ago=400)
    ((name, text),) = usage_export(alice)
    assert (name, '"cost": "0.30"' in text) == ("usage.json", True)
