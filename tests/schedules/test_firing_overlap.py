"""A new occurrence while the run before is unfinished: skip, queue one, replace, allow (runs.md, Overlap policy)."""

import threading

import pytest
from django.db import transaction

from chats.models import Turn
from chats.services.turns_order import conversations_hold
from core.db import locked
from schedules.models import Run, Schedule
from schedules.services.firing import fire_due
from schedules.services.origin import ScheduleOrigin
from tests.support.engine import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    at_once,
    begin,
    claim,
    due_schedule,
    ended,
    failed,
    fire,
    ledger,
    settle,
)

pytestmark = pytest.mark.django_db
NEXT, THIRD = NOW + HOUR, NOW + 2 * HOUR


@pytest.fixture
def fired(alice):
    """Return a schedule under an overlap rule whose first occurrence was fired."""

    def make(policy: str, **fields) -> Schedule:
        schedule = due_schedule(alice, overlap_policy=policy, **fields)
        fire()
        return schedule

    return make


class TestSkip:
    @pytest.mark.parametrize("state", ["queued", "running", "retry wait"])
    def test_an_unfinished_run_of_any_kind_skips_the_next(self, fired, state):
        """B69: a skipped row names the overlap; never two are active."""
        schedule = fired("skip")
        if state != "queued":
            [work] = begin()
            if state == "retry wait":
                settle(failed(work))
        fire(NEXT)
        assert ledger(schedule)[1] == ("skipped", "overlap", NEXT)

    def test_a_finished_run_does_not(self, fired):
        schedule = fired("skip")
        [work] = begin()
        settle(ended(work))
        fire(NEXT)
        assert ledger(schedule) == [("succeeded", "", NOW), ("queued", "", NEXT)]

    def test_a_run_by_hand_counts_as_unfinished_too(self, fired, make_run):
        schedule = fired("skip")
        Run.objects.update(status="succeeded", settled_at=NOW)
        make_run(schedule=schedule, kind="manual", status="queued", scheduled_for=NOW + MINUTE)
        fire(NEXT)
        assert ledger(schedule)[-1] == ("skipped", "overlap", NEXT)


class TestQueueOne:
    def test_one_waits_and_a_second_is_skipped(self, fired):
        schedule = fired("queue_one")
        begin()
        fire(NEXT)
        fire(THIRD)
        assert ledger(schedule) == [("running", "", NOW), ("queued", "", NEXT), ("skipped", "overlap", THIRD)]

    def test_the_waiting_one_is_leased_when_the_first_has_ended_and_not_before(self, fired):
        fired("queue_one")
        [first] = begin()
        fire(NEXT)
        assert claim(NEXT) == []
        settle(ended(first), now=NEXT)
        [second] = begin(NEXT)
        assert second.turn.run.scheduled_for == NEXT

    def test_a_retry_wait_of_the_first_holds_the_second_back(self, fired):
        """In the order of occurrences: the older one's next try comes first."""
        fired("queue_one", retry_window_seconds=86_400)
        [first] = begin(NEXT - 10 * SECOND)
        settle(failed(first, retry_after=5), now=NEXT - 10 * SECOND)
        fire(NEXT)
        [leased] = claim(NEXT + SECOND)
        assert leased.pk == first.turn.pk


class TestReplace:
    def test_a_running_one_is_asked_to_stop_and_the_new_one_waits_until_it_has(self, fired):
        schedule = fired("replace")
        [first] = begin()
        fire(NEXT)
        first.turn.refresh_from_db()
        assert (first.turn.stop_requested_at, first.turn.stop_reason) == (NEXT, "replaced")
        assert ledger(schedule) == [("running", "", NOW), ("queued", "", NEXT)]
        assert claim(NEXT) == []
        settle(ended(first, "stopped", "Half a", code="replaced"), now=NEXT)
        assert ledger(schedule)[0] == ("stopped", "replaced", NOW)
        [second] = begin(NEXT + SECOND)
        assert second.turn.run.scheduled_for == NEXT

    def test_one_that_never_started_is_cancelled(self, fired):
        schedule = fired("replace")
        fire(NEXT)
        assert ledger(schedule) == [("cancelled", "replaced", NOW), ("queued", "", NEXT)]

    def test_one_that_is_leased_but_not_started_is_stopped_too(self, fired):
        """Between lease and start: neither queued nor running in the ledger."""
        schedule = fired("replace")
        [turn] = claim()
        fire(NEXT)
        turn.refresh_from_db()
        assert turn.stop_reason == "replaced"
        assert [row[0] for row in ledger(schedule)] == ["queued", "queued"]
        assert claim(NEXT) == []

    def test_a_retry_wait_ends_at_once(self, fired):
        schedule = fired("replace")
        [work] = begin(NEXT - MINUTE)
        settle(failed(work, retry_after=59), now=NEXT - MINUTE)
        fire(NEXT)
        assert ledger(schedule) == [("stopped", "replaced", NOW), ("queued", "", NEXT)]

    def test_all_that_is_unfinished_makes_room(self, fired, make_run, make_turn):
        schedule = fired("replace")
        turn = make_turn(owner=schedule.owner, agent=schedule.agent, origin="schedule")
        make_run(schedule=schedule, kind="manual", status="queued", scheduled_for=NOW + MINUTE, turn=turn)
        fire(NEXT)
        assert [row[0] for row in ledger(schedule)] == ["cancelled", "cancelled", "queued"]

    @pytest.mark.django_db(transaction=True)
    def test_a_fire_that_meets_a_settle_waits_for_it_without_a_deadlock(self, fired, monkeypatch, caplog):
        """Lock order: a settle holds the turn and wants the schedule, the clock holds the schedule and wants the turn."""
        schedule = fired("replace")
        [work] = begin()
        held, looked = threading.Event(), threading.Event()
        real = ScheduleOrigin.settled

        def settled(self, turns, *, now):
            held.set()
            looked.wait(1)
            real(self, turns, now=now)

        monkeypatch.setattr(ScheduleOrigin, "settled", settled)

        def clock():
            held.wait(10)
            first = fire_due(now=NEXT)
            looked.set()
            return first

        _, settled_ids = at_once([clock, lambda: settle(ended(work), now=NEXT)])
        assert caplog.messages == []
        fire(NEXT)
        assert settled_ids == {work.turn.pk}
        assert ledger(schedule) == [("succeeded", "", NOW), ("queued", "", NEXT)]

    @pytest.mark.django_db(transaction=True)
    def test_a_fire_never_waits_for_a_conversation_that_somebody_holds(self, fired, caplog):
        """Lock order: conversation, turn, schedule; the clock, which has the schedule first, takes the others or none."""
        schedule = fired("replace")
        [work] = begin()
        held, looked = threading.Event(), threading.Event()

        def worker():
            with transaction.atomic():
                conversations_hold(turn_ids=[work.turn.pk])
                held.set()
                looked.wait(1)
                return len(locked(Turn.objects.filter(pk=work.turn.pk)))

        def clock():
            held.wait(10)
            first = fire_due(now=NEXT)
            looked.set()
            return first

        _, rows = at_once([clock, worker])
        assert rows == 1
        assert caplog.messages == []
        fire(NEXT)
        assert ledger(schedule) == [("running", "", NOW), ("queued", "", NEXT)]

    def test_a_refused_occurrence_stops_nothing(self, fired, alice):
        """R16: only a run that is opened makes room."""
        fired("replace")
        [first] = begin()
        alice.groups.clear()
        fire(NEXT)
        first.turn.refresh_from_db()
        assert first.turn.stop_requested_at is None


class TestAllow:
    def test_runs_run_beside_each_other(self, fired):
        schedule = fired("allow")
        begin()
        fire(NEXT)
        begin(NEXT)
        assert ledger(schedule) == [("running", "", NOW), ("running", "", NEXT)]
        assert set(Run.objects.values_list("turn__series", flat=True)) == {None}


class TestRunAll:
    @pytest.mark.parametrize("policy", ["skip", "queue_one", "allow"])
    def test_they_run_one_after_the_other_in_order(self, alice, policy):
        """C9."""
        schedule = due_schedule(
            alice, overlap_policy=policy, misfire_policy="run_all", planned_through=NOW - 3 * HOUR,
            next_run_at=NOW - 2 * HOUR,
        )  # fmt: skip
        fire()
        ran = []
        for _ in range(3):
            [work] = begin()
            assert claim() == []
            ran.append(work.turn.run.scheduled_for)
            settle(ended(work))
        assert ran == [NOW - 2 * HOUR, NOW - HOUR, NOW]
        assert {row[0] for row in ledger(schedule)} == {"succeeded"}

    def test_under_replace_nothing_is_stopped_for_them(self, alice):
        """C9: each waits for the one before, whatever the overlap rule says."""
        schedule = due_schedule(alice, overlap_policy="replace", misfire_policy="run_all", misfire_grace_seconds=7200)
        fire()
        fire(NOW + 3 * HOUR)
        assert ledger(schedule) == [("queued", "", NOW + n * HOUR) for n in range(4)]


def test_a_run_of_a_stricter_rule_waits_for_what_allow_had_opened(fired):
    """Overlap after an edit: what `allow` had started goes on, and the newer one waits for it like for any other."""
    schedule = fired("allow")
    Schedule.objects.filter(pk=schedule.pk).update(overlap_policy="queue_one")
    begin()
    fire(NEXT)
    begin(NEXT)
    assert ledger(schedule) == [("running", "", NOW), ("queued", "", NEXT)]
