"""Leasing queued turns: capacity, fairness, series, lanes, the global stop (R23 to R25)."""

from collections import Counter

import pytest

from accounts.models import GlobalStop, LimitSet
from chats.models import Turn
from chats.services.turns_claim import turns_claim, turns_waiting
from tests.support.engine import HOUR, MINUTE, NOW, SECOND, at_once, claim

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(make_agent):
    return make_agent()


@pytest.fixture
def queue(make_turn, agent):
    """Queue `count` turns of `owner`, a second apart; return them."""

    def make(owner, count=1, **fields):
        return [
            make_turn(owner=owner, agent=agent, **{"queued_at": NOW - HOUR + n * SECOND, **fields})
            for n in range(count)
        ]

    return make


def owners(turns) -> Counter:
    return Counter(turn.owner.display_name for turn in turns)


def limit(owner, **values):
    LimitSet.objects.update_or_create(scope="user", user=owner, defaults={"updated_at": NOW, **values})


class TestLease:
    def test_the_oldest_are_leased_first_under_a_new_fence_for_the_length_of_a_lease(self, alice, queue, settings):
        first, second, _ = queue(alice, 3)
        leased = claim(most=2)
        assert [turn.pk for turn in leased] == [first.pk, second.pk]
        stored = Turn.objects.get(pk=first.pk)
        assert (stored.status, stored.fence, stored.leased_by, stored.leased_at) == ("running", 1, "host/1/a", NOW)
        assert (stored.lease_expires_at - NOW).total_seconds() == settings.LEASE_SECONDS

    def test_a_turn_is_leased_once(self, alice, queue):
        queue(alice)
        assert len(claim()) == 1
        assert claim(worker="host/2/b") == []

    def test_nothing_is_leased_before_its_instant(self, alice, queue):
        queue(alice, not_before=NOW + SECOND)
        assert claim() == []
        assert turns_waiting(now=NOW) is False
        assert turns_waiting(now=NOW + SECOND) is True
        assert len(claim(NOW + SECOND)) == 1

    @pytest.mark.parametrize("status", ["needs_approval", "completed", "cancelled"])
    def test_only_queued_turns_are_leased(self, alice, queue, status):
        queue(alice, status=status, settled_at=None if status == "needs_approval" else NOW)
        assert claim() == []


class TestCapacity:
    """R24: per deployment and per owner; R25: only a leased turn holds any."""

    def test_the_deployment_carries_so_many_and_no_more(self, make_user, queue, settings):
        settings.MAX_CONCURRENT_TURNS = 7
        for _ in range(4):
            queue(make_user(), 5)
        assert len(claim(most=5)) == 5
        assert len(claim(most=5)) == 2
        assert claim() == []
        Turn.objects.filter(status="running").first().delete()
        assert len(claim()) == 1

    def test_an_operator_narrows_the_deployments_capacity_without_a_restart(self, make_user, queue):
        LimitSet.objects.create(updated_at=NOW, scope="deployment", max_concurrent_turns=2)
        for _ in range(3):
            queue(make_user())
        assert len(claim()) == 2

    def test_one_owner_has_at_most_five(self, alice, queue):
        queue(alice, 8)
        assert len(claim(most=3)) == 3
        assert len(claim()) == 2
        assert claim() == []

    def test_an_owner_narrowed_to_one_has_one(self, alice, bob, queue):
        limit(alice, max_concurrent=1)
        queue(alice, 4)
        queue(bob, 4)
        assert owners(claim()) == {"Alice": 1, "Bob": 4}

    def test_neither_a_queued_turn_nor_a_retry_wait_nor_an_approval_holds_capacity(self, alice, queue, settings):
        """R25."""
        settings.MAX_CONCURRENT_TURNS = settings.MAX_CONCURRENT_PER_OWNER = 1
        queue(alice, not_before=NOW + HOUR)
        queue(alice, status="needs_approval")
        queue(alice)
        assert len(claim()) == 1

    def test_a_full_owner_takes_no_place_of_the_look_from_others(self, alice, bob, queue):
        """However many of a full owner wait, the look at a bounded number of turns finds the other's."""
        queue(alice, 5)
        claim()
        queue(alice, 60)
        [bobs] = queue(bob, queued_at=NOW)
        assert [turn.pk for turn in claim()] == [bobs.pk]


class TestFairness:
    """R23: owners take turns; one owner's thousand runs delay another's one by one round at most."""

    def test_the_one_run_of_bob_is_in_the_first_round(self, alice, bob, queue):
        queue(alice, 40)
        queue(bob, queued_at=NOW)
        assert owners(claim(most=2)) == {"Alice": 1, "Bob": 1}

    def test_what_an_owner_has_running_counts_as_rounds_had(self, alice, bob, queue):
        queue(alice, 10)
        claim(most=2)
        queue(bob, 10, queued_at=NOW)
        assert [turn.owner_id for turn in claim(most=2)] == [bob.pk, bob.pk]

    def test_places_are_dealt_one_owner_after_the_other(self, make_user, queue, settings):
        settings.MAX_CONCURRENT_TURNS = 6
        people = [make_user(display_name=f"P{n}") for n in range(3)]
        for number, person in enumerate(people):
            queue(person, 5, queued_at=NOW - number * MINUTE)
        assert owners(claim()) == {"P0": 2, "P1": 2, "P2": 2}


class TestSeries:
    """Of the turns of one series at most one runs, in the order of their occurrences (overlap, C9)."""

    def test_they_run_one_after_the_other_in_order(self, alice, queue):
        [late] = queue(alice, series="s", series_order=NOW + HOUR)
        [early] = queue(alice, series="s", series_order=NOW, queued_at=NOW)
        assert [turn.pk for turn in claim()] == [early.pk]
        assert claim() == []
        Turn.objects.filter(pk=early.pk).update(status="completed", settled_at=NOW)
        assert [turn.pk for turn in claim()] == [late.pk]

    def test_two_of_the_same_instant_have_an_order_too(self, alice, queue):
        first, second = (queue(alice, series="s", series_order=NOW)[0] for _ in range(2))
        assert [turn.pk for turn in claim()] == [first.pk]
        Turn.objects.filter(pk=first.pk).update(status="stopped", settled_at=NOW)
        assert [turn.pk for turn in claim()] == [second.pk]

    def test_the_retry_wait_of_an_earlier_one_holds_the_later_back(self, alice, queue):
        queue(alice, series="s", series_order=NOW, not_before=NOW + MINUTE)
        queue(alice, series="s", series_order=NOW + HOUR)
        assert claim() == []

    def test_one_that_waits_for_a_person_does_not(self, alice, queue):
        """An approval never blocks a cadence unnoticed."""
        queue(alice, series="s", series_order=NOW, status="needs_approval")
        queue(alice, series="s", series_order=NOW + HOUR)
        assert len(claim()) == 1

    def test_other_series_and_turns_without_one_go_on(self, alice, queue):
        queue(alice, 2, series="s", series_order=NOW)
        queue(alice, series="t", series_order=NOW)
        queue(alice)
        assert len(claim()) == 3


class TestLanes:
    """R24: interactive turns have their own lane; scheduled load never delays a person who is typing."""

    def test_people_come_first_and_take_nothing_from_the_scheduled(self, alice, queue, settings):
        settings.MAX_CONCURRENT_TURNS = settings.MAX_CONCURRENT_PER_OWNER = 2
        queue(alice, 5)
        assert len(claim()) == 2
        queue(alice, 3, lane="interactive", queued_at=NOW)
        assert {turn.lane for turn in claim()} == {"interactive"}

    def test_their_lane_has_its_own_end(self, alice, queue, settings):
        settings.MAX_INTERACTIVE_TURNS = 2
        queue(alice, 4, lane="interactive")
        queue(alice)
        assert Counter(turn.lane for turn in claim()) == {"interactive": 2, "scheduled": 1}
        assert claim() == []

    def test_the_global_stop_holds_the_scheduled_lane_alone(self, alice, queue):
        """Gate row 1: nothing starts that no person started."""
        GlobalStop.objects.create(on=True, reason="Maintenance")
        queue(alice)
        queue(alice, lane="interactive")
        assert [turn.lane for turn in claim()] == ["interactive"]
        GlobalStop.objects.update(on=False)
        assert [turn.lane for turn in claim()] == ["scheduled"]


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """R24 under real threads: capacity that was counted is capacity that was granted."""

    def test_workers_at_the_same_instant_never_exceed_a_limit_and_never_share_a_turn(self, make_user, queue, settings):
        settings.MAX_CONCURRENT_TURNS, settings.MAX_CONCURRENT_PER_OWNER = 13, 3
        for _ in range(6):
            queue(make_user(), 10)

        def work(name):
            return [turn.pk for _ in range(4) for turn in turns_claim(worker=name, most=4, now=NOW)]

        leased = at_once([lambda n=n: work(f"host/{n}/x") for n in range(4)])
        everything = [pk for part in leased for pk in part]
        assert len(everything) == len(set(everything)) == 13
        assert max(Counter(Turn.objects.filter(status="running").values_list("owner", flat=True)).values()) <= 3
        assert set(Turn.objects.filter(status="running").values_list("fence", flat=True)) == {1}

    def test_one_of_a_series_runs_however_many_look(self, alice, queue):
        for n in range(6):
            queue(alice, series="s", series_order=NOW + n * MINUTE)
        leased = at_once([lambda n=n: turns_claim(worker=f"host/{n}/x", most=5, now=NOW) for n in range(4)])
        assert sum(len(turns) for turns in leased) == 1
