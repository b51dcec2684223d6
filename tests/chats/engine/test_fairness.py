"""Owners take turns while capacity is short, measured where it counts: in the order of the provider's log (R23)."""

from collections import Counter

import pytest

from bench.seed import make_due
from chats import lifecycle
from chats.models import WorkerHost
from chats.services.turns_claim import turns_claim
from core import clock
from tests.factories import make_user
from tests.fakes.provider import fake_provider
from tests.support.engine import MINUTE, NOW, SECOND, begin, ended, fire, queued_run, settle
from tests.support.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
CAPACITY, THOUSAND = 5, 1_000


@pytest.fixture
def fake():
    """A provider that thinks for a second."""
    with fake_provider(chunks=1, first_delay=1.0) as running:
        yield running


@pytest.mark.parametrize("running_first", [False, True], ids=["all queued", "five of Alice's run"])
def test_one_owners_thousand_do_not_delay_the_one_of_another(owner, agent, draining, fake, settings, running_first):
    """R23, R24: five at a time, and Alice may have them all; Bob asks a minute after her and is among the first ten."""
    settings.MAX_CONCURRENT_TURNS, settings.MAX_CONCURRENT_PER_OWNER = CAPACITY, THOUSAND
    settings.DRAIN_SECONDS = 0
    make_due(agent, [owner], THOUSAND, NOW)
    assert fire(NOW) == THOUSAND
    if running_first:
        started = draining()
        wait_until(lambda: len(fake.requests()) == CAPACITY)
    later = NOW + MINUTE
    queued_run(
        make_user("bob@example.com"), at=later, agent=agent, prompt="Bob's one",
        cadence={"kind": "once", "at": later.isoformat().replace("+00:00", "Z")},
    )  # fmt: skip
    if not running_first:
        started = draining()
    wait_until(lambda: fake.requests("Bob's one"))
    WorkerHost.objects.update(stopped_at=clock.now())
    started.end()
    prompts = [entry["prompt"] for entry in fake.requests()]
    assert prompts.index("Bob's one") < 10
    assert prompts[0] != "Bob's one", "Alice's are older"
    assert fake.most() == CAPACITY


OWNERS, EACH = 20, 50
MIXED, APART = "owners mixed", "an owner's one after the other"
ORDERS = {
    MIXED: lambda agent, people: make_due(agent, people, OWNERS * EACH, NOW),
    APART: lambda agent, people: [make_due(agent, [person], EACH, NOW) for person in people],
}


def most_behind(order):
    """Return the largest lead of one owner over another, in leases, at any time while both still had some waiting."""
    had, most = Counter(), 0
    for owner in order:
        had[owner] += 1
        waiting = [had[other] for other in set(order) if had[other] < EACH]
        most = max(most, had[owner] - min(waiting, default=had[owner]))
    return most


@pytest.mark.parametrize("kind", [MIXED, APART])
def test_of_twenty_owners_with_fifty_each_nobody_is_more_than_a_round_behind(agent, settings, kind):
    """R23: leased and settled five at a time until nothing is left."""
    settings.MAX_CONCURRENT_TURNS, settings.MAX_CONCURRENT_PER_OWNER = CAPACITY, THOUSAND
    people = [make_user() for _ in range(OWNERS)]
    ORDERS[kind](agent, people)
    assert fire(NOW) == OWNERS * EACH
    order = leases_in_order()
    assert Counter(order) == {person.pk: EACH for person in people}
    assert most_behind(order) <= 1


def leases_in_order():
    """Lease and settle as long as anything waits; return the owners in the order of their leases."""
    order, now = [], NOW
    while leased := turns_claim(worker="host/1/a", most=CAPACITY, now=now):
        order += [turn.owner_id for turn in leased]
        moves = [(lifecycle.Fenced(turn.pk, turn.fence), "completed", {}) for turn in leased]
        lifecycle.settle_many(moves, now=now)
        now += SECOND
    return order


def test_a_place_that_comes_free_goes_to_who_waits_longest_for_one(agent, settings):
    """R23: more owners than places; each place that comes free alone is dealt on, however old the others' queues are."""
    settings.MAX_CONCURRENT_TURNS, settings.MAX_CONCURRENT_PER_OWNER = 1, THOUSAND
    alice, bob = make_user(), make_user()
    make_due(agent, [alice], 10, NOW)
    fire(NOW)
    make_due(agent, [bob], 1, NOW + MINUTE)
    fire(NOW + MINUTE)
    order, now = [], NOW + MINUTE
    while works := begin(now, most=1):
        order.append(works[0].turn.owner_id)
        settle(ended(works[0]), now=now)
        now += SECOND
    assert order.index(bob.pk) <= 1
    assert turns_claim(worker="host/1/a", most=1, now=now) == []
