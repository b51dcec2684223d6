"""Many drains at the same instant: what is spent never exceeds what may be (accounts.md, Spend)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounts.models import CreditEntry, LimitSet, Notice, UsageEntry, User
from accounts.selectors.spend import balance_of
from accounts.services.spend import credit_grant
from chats.models import Turn
from schedules.models import Run
from schedules.services.runs import run_now
from tests import factories
from tests.support.engine import MINUTE, NOW, SECOND, at_once, begin, due_schedule, ended, fire, settle
from tests.support.spending import CENTS_30, budgeted, hours, priced, spent

pytestmark = pytest.mark.django_db(transaction=True)
LATE = NOW + 10 * MINUTE


@pytest.fixture
def owner(transactional_db: None) -> User:
    LimitSet.objects.create(scope="deployment", max_concurrent=10, updated_at=NOW)
    return factories.make_user("alice@example.com")


def ten(schedule, owner: User) -> None:
    for number in range(10):
        run_now(schedule=schedule, actor=owner, key=str(number), now=LATE)


def drains(count: int = 5, *, most: int = 2) -> list:
    """Return what `count` drains, let go together, may call their models for; each takes `most` turns at a time."""
    began = at_once([lambda n=n: begin(LATE, worker=f"host/{n}/a", most=most) for n in range(count)])
    return [work for works in began for work in works]


def test_ten_that_start_at_once_fit_the_schedules_budget(owner: User):
    """Budget 1.00, one settled run of 0.30, capacity 10: two more start, eight are skipped, told once."""
    schedule = budgeted(owner, overlap_policy="allow")
    hours(1)
    ten(schedule, owner)
    works = drains()
    assert len(works) == 2
    at_once([lambda work=work: settle(ended(work, **CENTS_30), now=LATE + SECOND) for work in works])
    assert spent(owner) == Decimal("0.90")
    assert Run.objects.filter(status="skipped", reason="budget").count() == 8
    assert Notice.objects.filter(code="budget_reached").count() == 1


def test_ten_schedules_that_start_at_once_fit_the_owners_month(owner: User):
    LimitSet.objects.create(scope="user", user=owner, monthly_spend=Decimal("1.00"), updated_at=NOW)
    agent = priced()
    for _ in range(10):
        due_schedule(owner, agent=agent, recent_costs=["0.300000"])
    fire()
    works = drains()
    settle(*[ended(work, **CENTS_30) for work in works], now=LATE + SECOND)
    assert (len(works), spent(owner)) == (3, Decimal("0.90"))


def test_ten_that_start_at_once_fit_a_credit_and_settling_at_once_charges_each_once(owner: User):
    credit_grant(user=owner, amount=Decimal("1.00"), reason="A start", now=NOW)
    agent = priced()
    for _ in range(10):
        due_schedule(owner, agent=agent, recent_costs=["0.300000"])
    fire()
    works = drains()
    assert len(works) == 3
    ends = [ended(work, **CENTS_30) for work in works]
    at_once([lambda end=end: settle(end, now=LATE + SECOND) for end in ends * 2])
    assert balance_of(owner) == Decimal("0.10")
    assert CreditEntry.objects.filter(kind="charge").count() == UsageEntry.objects.count() == 3


def test_settling_beside_starting_counts_each_turn_once(owner: User):
    """A turn that settles while another starts is in reserve or spent: never neither."""
    schedule = budgeted(owner, "0.60", overlap_policy="allow")
    hours(1)
    run_now(schedule=schedule, actor=owner, key="a", now=LATE)
    [work] = begin(LATE)
    for number in range(4):
        run_now_free(schedule, owner, number)
    began = at_once(
        [
            lambda: settle(ended(work, **CENTS_30), now=LATE + SECOND),
            lambda: begin(LATE + SECOND, worker="host/2/a", most=2),
            lambda: begin(LATE + SECOND, worker="host/3/a", most=2),
        ]
    )
    assert began[1:] == [[], []]
    assert spent(owner) == Decimal("0.60")
    assert Turn.objects.filter(status="running").count() == 0


def run_now_free(schedule, owner: User, number: int) -> None:
    """Queue a run past the gate, as one is that was fired before the budget was used up."""
    from schedules.services.rows import new_turn

    turn = new_turn(schedule, owner_id=owner.pk, agent=schedule.agent, run_at=LATE, serial=False, now=LATE)
    turn.save()
    factories.make_run(schedule=schedule, turn=turn, status="queued", kind="manual", overlap_policy="allow",
                       scheduled_for=LATE, idempotency_key=f"free:{number}")  # fmt: skip
