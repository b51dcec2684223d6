"""A worker that is gone: what its turn becomes (Recovery, R4, R12, R27, R29, R30, R39)."""

from contextlib import suppress

import pytest

from chats.engine import drain as drain_module
from chats.models import Message, Turn, WorkerHost
from chats.services.hosts import host_stop
from chats.services.turns_lease import text_flush
from chats.services.turns_recover import leases_of_dead, leases_recover
from chats.services.turns_start import turns_start
from schedules.models import Run, Schedule
from schedules.services import reconcile as reconcile_module
from schedules.services import upkeep
from schedules.services.editing import schedule_delete, schedule_pause
from schedules.services.reconcile import reconcile
from tests.support.engine import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    begin,
    claim,
    failed,
    fire,
    queued_run,
    settle,
)

pytestmark = pytest.mark.django_db
DEAD = NOW + 61 * SECOND
DAILY = {"kind": "daily", "time": "08:00"}


def outcome(run):
    run.refresh_from_db()
    return run.status, run.reason


def test_an_hour_without_any_host_is_not_an_hour_of_leases(alice):
    """R27: the deadline counts while the turn is leased, and the lease ended a minute after the last heartbeat."""
    run = queued_run(alice, cadence=DAILY)
    begin()
    leases_recover(now=NOW + HOUR)  # the default deadline is ten minutes
    assert outcome(run) == ("queued", "")


def test_an_hour_without_any_host_is_the_platforms_fault_and_no_failure_of_the_schedule(alice):
    """R12: with text that was flushed it is interrupted, which changes no streak."""
    run = queued_run(alice, cadence=DAILY)
    [work] = begin()
    text_flush(rows=[(work.message_id, work.fence, "Half an ans")])
    leases_recover(now=NOW + HOUR)
    assert outcome(run) == ("interrupted", "worker_lost")
    assert Schedule.objects.get().failure_streak == 0


def test_a_run_that_never_started_is_cancelled_by_a_pause_also_when_its_worker_dies(alice):
    """Pause: runs that never started are `cancelled: paused`; `stopped` is what a person stopped."""
    run = queued_run(alice)
    claim()
    schedule_pause(schedule=run.schedule, now=NOW + SECOND)
    leases_recover(now=DEAD)
    assert outcome(run) == ("cancelled", "paused")


def test_a_retry_whose_worker_died_before_the_call_is_a_retry_still(alice):
    """No retry starts once the next occurrence is due; a refused retry settles with the error of its last attempt."""
    run = queued_run(alice, at=NOW)
    [work] = begin()
    settle(failed(work), now=NOW)
    turns_start(turns=claim(NOW + 59 * MINUTE + 30 * SECOND), now=NOW + 59 * MINUTE + 30 * SECOND)
    leases_recover(now=NOW + HOUR + 31 * SECOND)
    fire(NOW + HOUR + 31 * SECOND)  # the next occurrence
    assert [w.turn.pk for w in begin(NOW + HOUR + 31 * SECOND)] == []
    assert outcome(run) == ("failed", "provider_unreachable")


def test_a_pause_ends_a_retry_wait_with_the_error_of_the_last_attempt_that_called(alice):
    """Pause: a retry wait ends with the last error; an attempt that called nobody does not count."""
    run = queued_run(alice, cadence=DAILY)
    [work] = begin()
    settle(failed(work), now=NOW)
    turns_start(turns=claim(NOW + MINUTE), now=NOW + MINUTE)
    leases_recover(now=NOW + 3 * MINUTE)
    schedule_pause(schedule=run.schedule, now=NOW + 3 * MINUTE)
    assert outcome(run) == ("failed", "provider_unreachable")


def test_a_rule_that_cannot_be_read_any_more_makes_no_settle_fail(alice):
    """R39, R29: the refused run ends, whatever became of the zone of its completed schedule."""
    run = queued_run(alice, max_runs=1)
    Schedule.objects.update(zone="Nowhere/Zone")
    alice.groups.clear()
    turns_start(turns=claim(), now=NOW)
    assert outcome(run) == ("refused", "permission_revoked")


def test_a_worker_whose_lease_was_taken_away_writes_nothing(alice):
    """R4: it slept, the turn was queued again; its flush comes too late."""
    queued_run(alice, cadence=DAILY)
    [work] = begin()
    leases_recover(now=DEAD)
    assert Turn.objects.get().status == "queued"
    text_flush(rows=[(work.message_id, work.fence, "Half an ans")])
    assert Message.objects.get(role="assistant").text == ""


def test_a_deleted_schedule_that_cannot_be_erased_keeps_no_other_from_being_erased(alice, monkeypatch):
    """R29: a row that keeps failing never starves others."""
    monkeypatch.setattr(reconcile_module, "BATCH", 1)
    for _ in range(2):
        run = queued_run(alice)
        begin()
        schedule_delete(schedule=run.schedule, now=NOW)
    leases_recover(now=DEAD)
    broken = Schedule.objects.order_by("pk").first().pk
    real = reconcile_module.lifecycle.erase

    def erase(schedule, *, now):
        if schedule.pk == broken:
            raise ZeroDivisionError("a bug")
        real(schedule, now=now)

    monkeypatch.setattr(reconcile_module.lifecycle, "erase", erase)
    for seconds in range(5):
        reconcile(now=DEAD + seconds * SECOND)
    assert list(Schedule.objects.values_list("pk", flat=True)) == [broken]


def test_one_schedule_that_raises_keeps_the_zone_data_of_no_other_stale(alice, make_schedule, monkeypatch):
    """C6, R29."""
    first, second = (make_schedule(owner=alice, armed=True) for _ in range(2))
    real = upkeep.next_columns

    def columns(schedule, *, after):
        if schedule.pk == first.pk:
            raise ZeroDivisionError("a bug")
        return real(schedule, after=after)

    monkeypatch.setattr(upkeep, "next_columns", columns)
    for _ in range(3):
        with suppress(ZeroDivisionError):
            upkeep.zones_refresh()
    second.refresh_from_db()
    assert second.zone_data


def test_after_shutdown_has_begun_nothing_new_is_leased(alice):
    """R30: the host row says stop; the drain's next look leases nothing, also before the heartbeat has told it."""
    import asyncio

    WorkerHost.objects.create(name="host", hostname="host", started_at=NOW)
    run = queued_run(alice)
    host_stop(name="host", now=NOW)

    async def look():
        one = drain_module.Drain(host="host")
        one.database.close()
        return one

    drain = asyncio.run(look())
    drain._lease_and_start()
    assert Run.objects.get(pk=run.pk).status == "queued"
    assert Turn.objects.get().status == "queued"


def test_a_worker_command_that_comes_back_after_an_hour_does_not_make_its_dead_ones_leases_longer(alice):
    """R27: the lease had run out by itself; noticing the death later is no time that was spent."""
    run = queued_run(alice, cadence=DAILY)
    begin(worker="host/11/a")
    leases_of_dead(host="host", alive=lambda pid: False, now=NOW + HOUR)
    leases_recover(now=NOW + HOUR + SECOND)
    assert outcome(run) == ("queued", "")
