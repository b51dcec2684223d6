"""Who waits for whom as turns start and settle: those whose runs are counted, and nobody else (PostgreSQL; R23, gate row 14)."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError, connection, transaction

from accounts.models import LimitSet, User
from chats.models import Turn
from chats.services.turns_lease import leases_renew
from chats.services.turns_order import owners_hold, owners_hold_counting
from core.db import locked
from tests.support.engine import MINUTE, NOW, claim, queued_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


class Beside:
    """Another process in its transaction: it does `act`, and stays in it until the block ends."""

    def __init__(self, act):
        self.act, self.done, self.free = act, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            with transaction.atomic():
                self.act()
                self.done.set()
                self.free.wait(20)
        finally:
            connection.close()

    def __enter__(self):
        self.thread.start()
        assert self.done.wait(20)

    def __exit__(self, *args):
        self.free.set()
        self.thread.join(20)


def waits(act):
    """Return whether `act` has to wait for somebody."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '300ms'")
            act()
    except OperationalError as error:
        assert "lock timeout" in str(error)
        return True
    return False


def change(user):
    return lambda: list(locked(User.objects.filter(pk=user.pk)).only("pk"))


def test_starts_of_one_owner_go_together_unless_their_runs_are_counted(make_user):
    alice, bob = make_user("alice@example.com"), make_user("bob@example.com")
    LimitSet.objects.create(scope="user", user=bob, daily_runs=3, updated_at=NOW)
    with Beside(lambda: owners_hold_counting({alice.pk, bob.pk})):
        assert not waits(lambda: owners_hold_counting({alice.pk}))
        assert waits(lambda: owners_hold_counting({bob.pk}))
        assert waits(change(alice)), "an edit, and the request to delete the account, come before the start or after it"


@pytest.mark.parametrize("counted", ["on_credit", "budgeted", "monthly_spend"])
def test_starts_of_one_owner_go_one_at_a_time_when_their_spending_is_counted(make_user, counted):
    """accounts.md, Spend: what is reserved is counted before the next one is."""
    alice, bob = make_user("alice@example.com"), make_user("bob@example.com")
    if counted == "monthly_spend":
        LimitSet.objects.create(scope="user", user=bob, monthly_spend=1, updated_at=NOW)
    else:
        User.objects.filter(pk=bob.pk).update(**{counted: True})
    with Beside(lambda: owners_hold_counting({alice.pk, bob.pk})):
        assert not waits(lambda: owners_hold_counting({alice.pk}))
        assert waits(lambda: owners_hold_counting({bob.pk}))


def test_settling_waits_for_nobody_but_who_changes_the_account(make_user, make_agent):
    alice = make_user("alice@example.com")
    turn = queued_run(alice, agent=make_agent()).turn_id
    with Beside(lambda: owners_hold(turn_ids=[turn])):
        assert not waits(lambda: owners_hold(turn_ids=[turn]))
        assert not waits(lambda: owners_hold_counting({alice.pk}))
        assert waits(change(alice))
    with Beside(change(alice)):
        assert waits(lambda: owners_hold(turn_ids=[turn]))
        assert waits(lambda: owners_hold_counting({alice.pk}))


def test_a_heartbeat_waits_for_nobody_and_renews_what_is_free(make_user, make_agent):
    """R26: a settle locks its turns one after the other, and the heartbeat of the same process renews all of them."""
    alice, agent = make_user("alice@example.com"), make_agent()
    held, free = (queued_run(alice, agent=agent).turn_id for _ in range(2))
    assert len(claim()) == 2
    renewed = {}
    with Beside(lambda: list(locked(Turn.objects.filter(pk=held)).only("pk"))):
        beat = lambda: renewed.update(leases_renew(worker="host/1/a", turn_ids=[held, free], now=NOW + MINUTE))  # noqa: E731
        assert not waits(beat)
    assert set(renewed) == {held, free}
    ends = dict(Turn.objects.values_list("pk", "lease_expires_at"))
    assert ends[free] - ends[held] == MINUTE
