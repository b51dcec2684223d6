"""Leases kept alive and text written as it comes: every write names the fence (R4, R26)."""

import pytest

from chats.models import Message, Turn, WorkerHost
from chats.services.turns_lease import host_beat, leases_renew, stops_requested, text_flush
from chats.services.turns_stop import turn_stop
from tests.support.engine import MINUTE, NOW, SECOND, begin, ended, failed, queued_run, settle

pytestmark = pytest.mark.django_db


class TestFlush:
    @pytest.fixture
    def work(self, alice):
        queued_run(alice)
        [work] = begin()
        return work

    def test_text_grows_for_the_reader(self, work):
        for text in ("It", "It rains", "It rains."):
            text_flush(rows=[(work.message_id, work.fence, text)])
            assert Message.objects.get(pk=work.message_id).text == text

    @pytest.mark.parametrize("off", [-1, 1])
    def test_another_fence_writes_nothing(self, work, off):
        """R4: a worker that stalls and wakes stores no second answer."""
        text_flush(rows=[(work.message_id, work.fence + off, "Stale")])
        assert Message.objects.get(pk=work.message_id).text == ""

    def test_a_finished_answer_is_not_written_over(self, work):
        settle(ended(work, text="It rains."))
        text_flush(rows=[(work.message_id, work.fence, "It ra")])
        assert Message.objects.get(pk=work.message_id).text == "It rains."

    def test_the_draft_of_the_next_attempt_is_not_written_by_the_one_before(self, work):
        settle(failed(work))
        [second] = begin(NOW + MINUTE)
        text_flush(rows=[(work.message_id, work.fence, "Stale"), (second.message_id, second.fence, "Fresh")])
        assert Message.objects.get(role="assistant").text == "Fresh"

    def test_hostile_text_is_stored_clean(self, work):
        """R39."""
        text_flush(rows=[(work.message_id, work.fence, "a\x00b\ud83d")])
        assert Message.objects.get(pk=work.message_id).text == "ab?"

    def test_nothing_to_write_is_no_error(self, db):
        text_flush(rows=[])


class TestRenew:
    def test_the_leases_of_what_is_worked_on_are_renewed_together(self, alice, bob, settings):
        for owner in (alice, bob):
            queued_run(owner)
        works = begin()
        later = NOW + 15 * SECOND
        fences = leases_renew(worker="host/1/a", turn_ids=[work.turn.pk for work in works], now=later)
        assert fences == {work.turn.pk: work.fence for work in works}
        lease = settings.LEASE_SECONDS * SECOND
        assert set(Turn.objects.values_list("lease_expires_at", flat=True)) == {later + lease}

    def test_a_turn_that_nobody_works_on_any_more_runs_out(self, alice, bob):
        """R25: a start or settle that failed leaks no capacity while its worker lives on."""
        for owner in (alice, bob):
            queued_run(owner)
        kept, dropped = begin()
        leases_renew(worker="host/1/a", turn_ids=[kept.turn.pk], now=NOW + 15 * SECOND)
        assert Turn.objects.get(pk=dropped.turn.pk).lease_expires_at == NOW + MINUTE

    def test_what_another_worker_leased_or_what_has_ended_is_not_renewed_and_not_reported(self, alice, bob):
        for owner in (alice, bob):
            queued_run(owner)
        lost, done = begin()
        Turn.objects.filter(pk=lost.turn.pk).update(leased_by="host/2/b", fence=2)
        settle(ended(done))
        ids = [lost.turn.pk, done.turn.pk]
        assert leases_renew(worker="host/1/a", turn_ids=ids, now=NOW + MINUTE) == {}


def test_a_worker_hears_of_stops_for_its_own_turns_only(alice, bob):
    for owner, worker in ((alice, "host/1/a"), (bob, "host/2/b")):
        queued_run(owner)
        begin(worker=worker)
    for turn in Turn.objects.all():
        turn_stop(turn_id=turn.pk, reason="stopped_by_staff", now=NOW)
    asked = stops_requested(worker="host/1/a")
    assert asked == {Turn.objects.get(leased_by="host/1/a").pk: "stopped_by_staff"}


def test_a_host_says_that_it_lives(db):
    WorkerHost.objects.create(name="host", hostname="host", started_at=NOW)
    host_beat(name="host", now=NOW, columns=["drain_at"])
    assert list(WorkerHost.objects.values_list("clock_at", "drain_at")) == [(None, NOW)]
