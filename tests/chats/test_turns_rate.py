"""A provider's requests and tokens per minute: what is beyond them waits in the queue (R24, R25)."""

from collections import Counter

import pytest

from accounts.models import LimitSet
from agents.models import ModelProvider
from chats.models import Turn, TurnAttempt
from chats.services.turns_start import turns_start
from tests.factories import make_agent, make_model, make_provider
from tests.support.engine import MINUTE, NOW, SECOND, at_once, begin, claim, due_schedule, ended, failed, fire, settle

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def room(db):
    """Owners may run many at once: what is short here is the provider."""
    LimitSet.objects.update_or_create(scope="deployment", defaults={"max_concurrent": 50, "updated_at": NOW})


@pytest.fixture
def narrow():
    """Return an agent whose provider has the limits that are given."""

    def make(**limits):
        return make_agent(model=make_model(provider=make_provider(**limits)))

    return make


def due(owner, agent, count=1, **fields):
    for _ in range(count):
        due_schedule(owner, agent=agent, **fields)
    fire()


def queued() -> list[float]:
    """Seconds until each queued turn is looked at again."""
    rows = Turn.objects.filter(status="queued").order_by("not_before").values_list("not_before", flat=True)
    return [(at - NOW).total_seconds() for at in rows]


def test_calls_beyond_the_requests_per_minute_wait_and_hold_no_capacity(alice, narrow):
    due(alice, narrow(requests_per_minute=3), 8)
    assert len(begin()) == 3
    assert queued() == [60, 60, 60, 120, 120]
    assert Turn.objects.filter(status="running").count() == 3  # R25
    assert TurnAttempt.objects.count() == 3
    assert claim(NOW + 59 * SECOND) == []
    assert len(begin(NOW + MINUTE)) == 3
    assert len(begin(NOW + 2 * MINUTE)) == 2


def test_a_wait_uses_up_no_attempt_and_no_deadline(alice, narrow):
    due(alice, narrow(requests_per_minute=1), 2)
    begin()
    waiting = Turn.objects.get(status="queued")
    assert (waiting.attempts_made, waiting.leased_seconds, waiting.error_code) == (0, 0, "")
    [work] = begin(NOW + MINUTE)
    assert work.turn.pk == waiting.pk
    assert TurnAttempt.objects.get(turn=waiting).number == 1


def test_what_a_provider_reported_counts_until_a_minute_after_the_start(alice, narrow):
    agent = narrow(tokens_per_minute=1000)
    due(alice, agent)
    [work] = begin()
    settle(ended(work, input_tokens=700, output_tokens=295), now=NOW + 5 * SECOND)
    due(alice, agent, prompt="x" * 80)
    assert begin(NOW + 10 * SECOND) == []
    assert queued() == [60]
    assert len(begin(NOW + MINUTE)) == 1


def test_a_running_call_counts_with_its_instructions_and_its_prompt(alice, narrow):
    agent = narrow(tokens_per_minute=300)
    agent.instructions = "x" * 200
    agent.save()
    due(alice, agent, 4, prompt="x" * 200)
    assert len(begin()) == 3
    assert set(TurnAttempt.objects.values_list("metered_tokens", flat=True)) == {100}


def test_a_prompt_larger_than_a_minute_is_not_kept_waiting_for_ever(alice, narrow):
    due(alice, narrow(tokens_per_minute=10), prompt="x" * 4000)
    assert len(begin()) == 1


def test_a_provider_without_limits_is_neither_locked_nor_metered(alice, narrow, django_assert_num_queries):
    due(alice, narrow())
    begin()
    assert TurnAttempt.objects.get().metered_by is None


def test_one_providers_limit_delays_nobody_elses_calls(alice, narrow):
    slow, free = narrow(requests_per_minute=1), narrow()
    due(alice, slow, 3)
    due(alice, free, 3)
    assert Counter(work.turn.agent_id for work in begin()) == {slow.pk: 1, free.pk: 3}


def test_owners_take_turns_at_a_provider_that_is_short_of_room(alice, bob, narrow):
    """R23: Alice's many are older, and still Bob's one is among the first two."""
    agent = narrow(requests_per_minute=2)
    due(alice, agent, 10)
    due(bob, agent)
    assert {work.turn.owner_id for work in begin()} == {alice.pk, bob.pk}


def test_a_retry_counts_as_a_call_of_its_own(alice, narrow):
    due(alice, narrow(requests_per_minute=1))
    [work] = begin()
    settle(failed(work), now=NOW + SECOND)
    assert begin(NOW + 10 * SECOND) == []
    assert queued() == [60]
    assert [again.turn.pk for again in begin(NOW + MINUTE)] == [work.turn.pk]


def test_a_person_who_is_typing_counts_and_never_waits(alice, narrow, make_turn):
    agent = narrow(requests_per_minute=1)
    due(alice, agent, 2)
    begin()
    Turn.objects.filter(status="queued").update(lane="interactive", not_before=NOW)
    assert len(begin()) == 1
    assert TurnAttempt.objects.filter(metered_by=agent.model.provider).count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_workers_that_start_at_once_share_one_minute(alice, narrow):
    due(alice, narrow(requests_per_minute=4), 12)
    halves = [claim(worker="host/1/a", most=6), claim(worker="host/2/b", most=6)]
    begun = at_once([lambda half=half: turns_start(turns=half, now=NOW) for half in halves])
    assert sum(len(works) for works in begun) == 4


def test_a_provider_that_is_removed_takes_no_attempt_with_it(alice, narrow):
    due(alice, narrow(requests_per_minute=1))
    begin()
    TurnAttempt.objects.update(metered_by=make_provider())
    ModelProvider.objects.filter(models=None).delete()
    assert TurnAttempt.objects.get().metered_by is None
