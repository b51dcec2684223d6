"""What is compared with what must be, every few seconds (runs.md, Recovery)."""

import pytest
from django.db import OperationalError

from accounts.models import IdempotencyKey, Notice
from schedules.models import Run, Schedule
from schedules.services import reconcile as module
from schedules.services.reconcile import count_windows, reconcile
from tests.support.engine import DAY, HOUR, MINUTE, NOW, begin, due_schedule, fire, queued_run

pytestmark = pytest.mark.django_db


def test_an_enabled_schedule_without_a_next_look_is_armed(alice, make_schedule):
    """R6, B75."""
    schedule = make_schedule(owner=alice)
    assert reconcile(now=NOW) == 1
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == NOW + HOUR
    assert reconcile(now=NOW) == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"zone": "Nowhere/Zone"}, "zone_unknown"),
        ({"cadence": {"kind": "daily"}}, "cadence_invalid"),
        ({"skip_dates": 7}, "internal"),
    ],
)
def test_one_that_cannot_be_armed_is_blocked_with_the_reason_and_its_owner_told_once(
    alice, make_schedule, fields, reason
):
    """C7, R6, R15."""
    schedule, healthy = make_schedule(owner=alice, **fields), make_schedule(owner=alice)
    reconcile(now=NOW)
    reconcile(now=NOW + MINUTE)
    assert Schedule.objects.get(pk=schedule.pk).blocked_reason == reason
    assert Schedule.objects.get(pk=healthy.pk).next_run_at == NOW + HOUR
    assert Notice.objects.filter(user=alice, code="schedule_blocked").count() == 1


@pytest.mark.parametrize(
    "off", [{"enabled": False}, {"blocked_reason": "internal"}, {"completed_at": NOW}, {"next_run_at": NOW + DAY}]
)
def test_what_is_off_or_armed_is_left_alone(alice, make_schedule, off):
    schedule = make_schedule(owner=alice, **off)
    assert reconcile(now=NOW) == 0
    assert Schedule.objects.get(pk=schedule.pk).next_run_at == off.get("next_run_at")


def test_a_rule_with_nothing_left_is_completed(alice, make_schedule):
    make_schedule(owner=alice, until=NOW - DAY)
    reconcile(now=NOW)
    assert Schedule.objects.get().completed_at == NOW


class TestDeleting:
    def test_one_without_an_active_run_is_erased_with_its_runs_and_keeps_its_create_key(
        self, alice, make_schedule, make_run
    ):
        """The key answers `gone`, so that a retried create cannot bring it back."""
        schedule = make_schedule(owner=alice, deleting_at=NOW)
        make_run(schedule=schedule)
        IdempotencyKey.objects.create(
            owner=alice, act="schedule", key="k", digest="d", made=schedule.public_id, created_at=NOW
        )
        reconcile(now=NOW + MINUTE)
        assert not Schedule.objects.exists()
        assert not Run.objects.exists()
        assert IdempotencyKey.objects.get().gone_at == NOW + MINUTE

    def test_one_with_an_active_run_waits_for_its_end(self, alice):
        run = queued_run(alice)
        begin()
        Schedule.objects.update(deleting_at=NOW, next_run_at=None)
        reconcile(now=NOW)
        assert Run.objects.get(pk=run.pk).status == "running"

    def test_a_hundred_that_wait_do_not_starve_one_that_is_ready(self, alice, make_agent, make_schedule, monkeypatch):
        """R29."""
        monkeypatch.setattr(module, "BATCH", 3)
        agent = make_agent()
        for _ in range(3):
            schedule = make_schedule(owner=alice, agent=agent, deleting_at=NOW)
            Run.objects.create(
                schedule=schedule, owner=alice, agent=agent, kind="scheduled", status="queued", scheduled_for=NOW,
                due_at=NOW, opened_at=NOW, prompt="x", idempotency_key=f"k{schedule.pk}",
            )  # fmt: skip
        ready = make_schedule(owner=alice, agent=agent, deleting_at=NOW)
        reconcile(now=NOW)
        assert not Schedule.objects.filter(pk=ready.pk).exists()
        assert Schedule.objects.count() == 3


class TestWindows:
    """A missed window of more than 1,000 is counted outside the tick (details.md)."""

    @pytest.fixture
    def long_window(self, alice):
        """Return the row of 60 days of an hourly schedule."""

        def make(**fields):
            schedule = due_schedule(alice, planned_through=NOW - 60 * DAY, next_run_at=NOW - 60 * DAY, **fields)
            fire(NOW + 20 * MINUTE)
            return Run.objects.get(schedule=schedule)

        return make

    def test_it_is_counted_exactly(self, long_window):
        run = long_window()
        assert run.missed_count is None
        reconcile(now=NOW + 21 * MINUTE)
        run.refresh_from_db()
        assert run.missed_count == 60 * 24

    def test_one_whose_rule_cannot_be_read_any_more_holds_up_nothing(self, alice, long_window, make_schedule):
        """R29: neither the other windows nor the other parts of recovery."""
        broken, fine = long_window(), long_window()
        Schedule.objects.filter(pk=broken.schedule_id).update(zone="Nowhere/Zone")
        unarmed = make_schedule(owner=alice)
        for _ in range(20):
            count_windows(most=1)
        reconcile(now=NOW + 21 * MINUTE)
        fine.refresh_from_db()
        assert fine.missed_count == 60 * 24
        assert Schedule.objects.get(pk=unarmed.pk).next_run_at is not None


def test_a_part_that_fails_leaves_the_others_at_work(alice, make_schedule, monkeypatch):
    """R29."""
    make_schedule(owner=alice)

    def fails(**kwargs):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(module, "leases_recover", fails)
    monkeypatch.setattr(module, "count_windows", fails)
    assert reconcile(now=NOW) == 1


def test_evidence_that_cannot_be_read_settles_nothing(alice, make_schedule, monkeypatch):
    """R28."""
    make_schedule(owner=alice)

    def away(schedule, *, now):
        raise OperationalError("the database is away")

    monkeypatch.setattr(module, "schedule_arm", away)
    reconcile(now=NOW)
    stored = Schedule.objects.get()
    assert (stored.next_run_at, stored.blocked_reason) == (None, "")
