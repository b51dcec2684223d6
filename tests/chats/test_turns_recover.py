"""Turns whose worker is gone: requeued under a new fence, or settled with what was flushed (Recovery, R28, R29, R40)."""

import threading

import pytest
from django.db import OperationalError, connection

from chats.models import Message, Turn, TurnAttempt
from chats.services import turns_recover as module
from chats.services.hosts import host_open
from chats.services.turns_lease import leases_renew, text_flush
from chats.services.turns_recover import leases_of_dead, leases_recover, turns_put_back
from chats.services.turns_start import turns_start
from chats.services.turns_stop import turn_stop
from schedules.models import Run, Schedule
from tests.support.engine import HOUR, MINUTE, NOW, SECOND, at_once, begin, claim, ended, queued_run, settle

pytestmark = pytest.mark.django_db
DEAD = NOW + 61 * SECOND  # a lease of 60 s has run out


@pytest.fixture
def run(alice):
    """The run of a daily schedule, so that no next occurrence ends its retries."""
    return queued_run(alice, cadence={"kind": "daily", "time": "08:00"})


def write(work, text):
    text_flush(rows=[(work.message_id, work.fence, text)])


def state(run):
    run.refresh_from_db()
    return run.status, run.reason, run.attempts


class TestLoss:
    def test_before_the_start_it_is_requeued_for_nothing(self, run):
        claim()
        assert leases_recover(now=DEAD) == 1
        assert state(run)[0] == "queued"
        [work] = begin(DEAD)
        assert (work.fence, work.turn.attempts_made) == (2, 0)

    def test_before_the_call_it_is_requeued_and_the_attempt_does_not_count(self, run):
        """Definite: this attempt's `dispatched_at` is empty."""
        turns_start(turns=claim(), now=NOW)
        leases_recover(now=DEAD)
        assert state(run)[0] == "queued"
        assert TurnAttempt.objects.get().certainty == "definite"
        [work] = begin(DEAD)
        settle(ended(work), now=DEAD)
        assert state(run) == ("succeeded", "", 1)

    def test_before_the_call_nothing_of_the_deadline_is_used_up(self, run):
        """R27: a lease that called nobody costs nothing, however long it was held."""
        Turn.objects.update(deadline_seconds=60)
        for start in (0, 1):
            turns_start(turns=claim(NOW + start * HOUR), now=NOW + start * HOUR)
            leases_recover(now=NOW + start * HOUR + 61 * SECOND)
            assert state(run)[0] == "queued"
        assert Turn.objects.get().leased_seconds == 0
        [work] = begin(NOW + 2 * HOUR)
        assert work.seconds_left == 60

    def test_before_the_call_also_for_the_tenth_time(self, run):
        """Free means free: nothing was spent."""
        Turn.objects.update(deadline_seconds=3600)
        now = NOW
        for _ in range(12):
            turns_start(turns=claim(now), now=now)
            now += 61 * SECOND
            leases_recover(now=now)
        assert state(run)[0] == "queued"

    def test_after_the_call_it_is_tried_once_more_when_nothing_was_stored(self, run):
        begin()
        leases_recover(now=DEAD)
        assert state(run)[0] == "queued"
        assert TurnAttempt.objects.get().certainty == "ambiguous"
        [work] = begin(DEAD)
        settle(ended(work), now=DEAD)
        assert state(run) == ("succeeded", "", 2)

    def test_two_losses_after_the_call_are_interrupted(self, run):
        """The platform's fault: not the schedule's failure (R12)."""
        begin()
        leases_recover(now=DEAD)
        begin(DEAD)
        leases_recover(now=DEAD + 61 * SECOND)
        assert state(run) == ("interrupted", "worker_lost", 2)
        assert Schedule.objects.get().failure_streak == 0

    def test_text_that_was_flushed_is_kept_and_not_asked_for_again(self, run):
        [work] = begin()
        write(work, "Half an ans")
        leases_recover(now=DEAD)
        assert state(run) == ("interrupted", "worker_lost", 1)
        message = Message.objects.get(role="assistant")
        assert (message.text, message.state) == ("Half an ans", "partial")

    def test_after_an_effect_it_is_not_tried_again(self, run):
        begin()
        Turn.objects.update(side_effects=True)
        leases_recover(now=DEAD)
        assert state(run)[:2] == ("interrupted", "worker_lost")

    def test_before_the_call_an_earlier_attempts_effect_does_not_matter(self, run):
        """Definite: this attempt called nobody, so nothing of it can happen twice."""
        Turn.objects.update(side_effects=True)
        turns_start(turns=claim(), now=NOW)
        leases_recover(now=DEAD)
        assert state(run)[0] == "queued"

    def test_a_stop_that_was_requested_is_what_happened(self, run):
        """B66: it neither shows as running for ever nor is called again, whoever restarts meanwhile."""
        [work] = begin()
        write(work, "Half an ans")
        turn_stop(turn_id=work.turn.pk, reason="stopped_by_owner", now=NOW)
        leases_recover(now=DEAD)
        assert state(run)[:2] == ("stopped", "stopped_by_owner")
        assert Message.objects.get(role="assistant").text == "Half an ans"

    def test_one_past_its_deadline_has_timed_out(self, run):
        """R27: the worker that should have said so is gone; the lease that nobody renewed ended after 60 s."""
        Turn.objects.update(deadline_seconds=60)
        begin()
        leases_recover(now=DEAD)
        assert state(run)[:2] == ("timed_out", "deadline")

    def test_capacity_is_free_afterwards(self, run, settings):
        settings.MAX_CONCURRENT_TURNS = 1
        begin()
        leases_recover(now=DEAD)
        assert len(claim(DEAD)) == 1


class TestRenewed:
    """R40: a renewed lease wins; every healing write repeats status, fence and lease."""

    def test_a_live_lease_is_left_alone(self, run):
        begin()
        assert leases_recover(now=NOW + 60 * SECOND) == 0
        assert state(run)[0] == "running"

    def test_a_heartbeat_between_the_look_and_the_write_wins(self, run, monkeypatch):
        [work] = begin()
        real = module._evidence
        renew = lambda: leases_renew(worker="host/1/a", turn_ids=[work.turn.pk], now=DEAD)  # noqa: E731

        def renewed_first(turn, now):
            renew()
            return real(turn, now)

        monkeypatch.setattr(module, "_evidence", renewed_first)
        leases_recover(now=DEAD)
        assert state(run)[0] == "running"
        assert Turn.objects.get().lease_expires_at > DEAD

    def test_a_lease_that_was_renewed_before_the_write_is_not_even_looked_at(self, run, monkeypatch):
        begin()
        stale = list(Turn.objects.all())
        Turn.objects.update(lease_expires_at=DEAD + MINUTE)
        assert module._heal(stale[0], DEAD) is False

    def test_a_turn_that_was_leased_again_meanwhile_is_left_alone(self, run):
        begin()
        stale = list(Turn.objects.all())
        Turn.objects.update(fence=5)
        assert module._heal(stale[0], DEAD) is False
        assert state(run)[0] == "running"

    @pytest.mark.django_db(transaction=True)
    def test_recovery_and_the_workers_own_settle_at_once(self, run):
        """Exactly one wins and the text is whole."""
        [work] = begin()
        write(work, "The whole")
        at_once([
            lambda: leases_recover(now=DEAD),
            lambda: settle(ended(work, text="The whole answer."), now=DEAD),
        ])  # fmt: skip
        outcome, text = state(run)[0], Message.objects.get(role="assistant").text
        assert (outcome, text) in [("succeeded", "The whole answer."), ("interrupted", "The whole")]

    @pytest.mark.django_db(transaction=True)
    def test_what_a_sleepy_worker_flushes_during_the_healing_is_not_overwritten(self, run, monkeypatch):
        """R30: text that was flushed is not lost; a flush that meets the healing waits and finds the draft closed."""
        [work] = begin()
        write(work, "Half")
        turn_stop(turn_id=work.turn.pk, reason="stopped_by_owner", now=NOW)
        sleepy = threading.Thread(target=lambda: (write(work, "Half an answer"), connection.close()))
        real, waits = module.turns_settle, []

        def settle_while_flushing(**arguments):
            sleepy.start()
            sleepy.join(0.3)
            waits.append(sleepy.is_alive())
            return real(**arguments)

        monkeypatch.setattr(module, "turns_settle", settle_while_flushing)
        leases_recover(now=DEAD)
        sleepy.join(10)
        assert waits == [True]
        assert state(run)[:2] == ("stopped", "stopped_by_owner")
        assert Message.objects.get(role="assistant").text == "Half"


class TestIsolation:
    def test_a_row_that_keeps_failing_starves_nobody(self, alice, bob, monkeypatch):
        """R29: least recently examined first."""
        for owner in (alice, bob):
            queued_run(owner)
        broken, fine = begin()
        real = module._evidence

        def evidence(turn, now):
            if turn.pk == broken.turn.pk:
                raise ZeroDivisionError("a bug")
            return real(turn, now)

        monkeypatch.setattr(module, "_evidence", evidence)
        healed = [leases_recover(now=DEAD + n * SECOND, most=1) for n in range(2)]
        assert sum(healed) == 1
        assert Turn.objects.get(pk=fine.turn.pk).status == "queued"
        assert Turn.objects.get(pk=broken.turn.pk).status == "running"

    def test_evidence_that_cannot_be_read_settles_nothing(self, run, monkeypatch):
        """R28."""
        begin()

        def away(turn, now):
            raise OperationalError("the database is away")

        monkeypatch.setattr(module, "_evidence", away)
        assert leases_recover(now=DEAD) == 0
        assert state(run)[0] == "running"


class TestDeadWorkers:
    def test_leases_of_a_process_that_is_gone_end_at_once_on_its_own_host_only(self, alice, bob, make_user):
        people = (alice, bob, make_user())
        for number, owner in enumerate(people):
            queued_run(owner)
            begin(worker=["host/11/a", "host/22/b", "other/11/c"][number])
        assert leases_of_dead(host="host", alive=lambda pid: pid == 22, now=NOW + SECOND) == 1
        assert leases_recover(now=NOW + SECOND) == 1
        assert Run.objects.get(owner=alice).status == "queued"
        assert Run.objects.filter(status="running").count() == 2

    def test_what_a_killed_worker_command_of_the_same_place_left_is_found_too(self, alice, bob):
        """R31: start after SIGKILL; another machine's numbers are never asked."""
        for name, place in (("old", "boot/1"), ("new", "boot/1"), ("far", "boot/2")):
            host_open(name=name, hostname="same", place=place, now=NOW)
        for owner, worker in ((alice, "old/11/a"), (bob, "far/11/b")):
            queued_run(owner)
            begin(worker=worker)
        assert leases_of_dead(host="new", alive=lambda pid: False, now=NOW + SECOND) == 1
        assert Turn.objects.get(owner=bob).lease_expires_at > NOW + SECOND


def test_waits_keep_their_length_when_a_clock_that_stood_ahead_is_put_right(alice, make_turn):
    """C15: and what the right time wrote is not touched."""
    ahead = make_turn(owner=alice, queued_at=NOW + HOUR, not_before=NOW + HOUR + 30 * SECOND)
    right = make_turn(owner=alice, queued_at=NOW, not_before=NOW + 20 * MINUTE)
    assert turns_put_back(now=NOW) == 1
    ahead.refresh_from_db()
    right.refresh_from_db()
    assert (ahead.queued_at, ahead.not_before) == (NOW, NOW + 30 * SECOND)
    assert right.not_before == NOW + 20 * MINUTE
