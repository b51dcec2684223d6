"""What others and the operator decide at each fire: stop, permission, policy, spread (gate, P8 to P10, C8)."""

from datetime import timedelta

import pytest

from accounts.models import GlobalStop
from schedules.models import Run, Schedule
from schedules.services import firing
from schedules.services.firing import fire_due
from tests.support.engine import HOUR, MINUTE, NOW, SECOND, due_schedule, fire, ledger

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("stopped_by", ["setting", "switch"])
def test_under_the_global_stop_nothing_is_written_and_nothing_is_lost(alice, settings, stopped_by):
    """Gate row 1."""
    schedule = due_schedule(alice)
    if stopped_by == "setting":
        settings.GLOBAL_STOP = True
    else:
        GlobalStop.objects.create(on=True, reason="Maintenance")
    before = Schedule.objects.values().get()
    assert fire_due(now=NOW).held
    assert Schedule.objects.values().get() == before
    assert not Run.objects.exists()
    settings.GLOBAL_STOP = False
    GlobalStop.objects.update(on=False)
    assert fire(NOW + MINUTE) == 1
    assert ledger(schedule) == [("queued", "", NOW)]


def test_a_stop_that_comes_up_during_the_look_is_a_wait_too(alice, monkeypatch):
    due_schedule(alice)
    monkeypatch.setattr(firing, "global_stop", lambda: None)
    GlobalStop.objects.create(on=True, reason="Maintenance")
    fire_due(now=NOW)
    assert not Run.objects.exists()
    assert Schedule.objects.get().next_run_at == NOW


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"is_active": False}, "refused", "owner_inactive"),
        ({"groups": None}, "refused", "permission_revoked"),
        ({"feature": False}, "refused", "feature_disabled"),
        ({"floor": 7200}, "refused", "cadence_below_floor"),
    ],
)
def test_what_the_owner_may_is_asked_at_each_fire(alice, limit, change, status, reason):
    """Gate rows 3 to 5 and 7; row 3 and 4 leave the schedule on, so that lifting them needs no undo (C12).

    B79: whose owner is gone has a row that says so.
    """
    schedule = due_schedule(alice, min_gap_seconds=3600)
    if "is_active" in change:
        type(alice).objects.update(is_active=False)
    elif "groups" in change:
        alice.groups.clear()
    elif "feature" in change:
        limit(alice, enabled=False)
    else:
        limit(alice, min_interval_seconds=change["floor"])
    fire()
    assert ledger(schedule) == [(status, reason, NOW)]
    schedule.refresh_from_db()
    blocks = reason in ("permission_revoked", "cadence_below_floor")
    assert schedule.blocked_reason == (reason if blocks else "")
    assert schedule.next_run_at == (None if blocks else NOW + HOUR)


class TestPolicy:
    """P8, P9: requirement and pin are pulled at each fire."""

    def test_a_requirement_that_is_not_met_refuses_and_blocks(self, alice, policy):
        schedule = due_schedule(alice)
        policy(alice, require_project=True)
        fire()
        assert ledger(schedule) == [("refused", "project_required", NOW)]
        assert Schedule.objects.get().blocked_reason == "project_required"

    @pytest.mark.parametrize("whose", ["deleted", "foreign"])
    def test_a_project_that_is_gone_or_foreign_refuses(self, alice, bob, make_project, whose):
        project = make_project(owner=bob) if whose == "foreign" else make_project(owner=alice, deleted_at=NOW)
        schedule = due_schedule(alice, project=project)
        fire()
        assert ledger(schedule) == [("refused", "project_deleted", NOW)]

    def test_a_pin_the_owner_does_not_have_refuses_and_is_never_written(self, alice, make_project, policy):
        """P8, P9."""
        schedule = due_schedule(alice, project=make_project(owner=alice))
        policy(alice, pinned_name="Nowhere")
        fire()
        assert ledger(schedule) == [("refused", "project_deleted", NOW)]
        assert Schedule.objects.get().project_id == schedule.project_id

    def test_a_fire_writes_the_pin_back_without_raising_the_revision(self, alice, make_project, policy):
        """P9, P10."""
        old, pinned = make_project(owner=alice), make_project(owner=alice, name="Team")
        schedule = due_schedule(alice, project=old)
        policy(alice, pinned_name="Team")
        fire()
        stored = Schedule.objects.get()
        assert (stored.project_id, stored.revision) == (pinned.pk, schedule.revision)
        assert Run.objects.get().project_id == pinned.pk

    def test_a_fire_never_writes_over_the_owners_edit(self, alice, make_project, policy, monkeypatch):
        """P9: only while the revision is the one that the fire read."""
        old, edited = make_project(owner=alice), make_project(owner=alice)
        make_project(owner=alice, name="Team")
        schedule = due_schedule(alice, project=old)
        policy(alice, pinned_name="Team")
        real = firing._claim

        def claim_then_edit(now, most):
            found = real(now, most)
            Schedule.objects.filter(pk=schedule.pk).update(revision=2, project=edited)
            return found

        monkeypatch.setattr(firing, "_claim", claim_then_edit)
        fire_due(now=NOW)
        assert Schedule.objects.get().project_id == edited.pk


def test_the_spread_moves_the_due_instant_and_nothing_else(alice, settings):
    """C8, B62: due, grace and lateness count from `due_at`; the ledger keeps the nominal time."""
    settings.SCHEDULE_SPREAD_SECONDS = 120
    schedules = [due_schedule(alice, overlap_policy="allow") for _ in range(20)]
    fire(NOW - SECOND + HOUR)  # the first look arms each with its own share
    Run.objects.all().delete()
    offsets = {}
    for schedule in schedules:
        schedule.refresh_from_db()
        assert schedule.next_occurrence_at == NOW + HOUR
        offsets[schedule.pk] = schedule.next_run_at - schedule.next_occurrence_at
    assert len(set(offsets.values())) > 5
    assert all(timedelta(0) <= offset < timedelta(seconds=120) for offset in offsets.values())
    for second in range(120):
        fire(NOW + HOUR + second * SECOND)
    for run in Run.objects.all():
        assert run.scheduled_for == NOW + HOUR
        assert run.due_at == run.opened_at == NOW + HOUR + offsets[run.schedule_id]
        assert run.late is False
    assert Run.objects.count() == 20


def test_the_spread_does_not_move_a_one_off(alice, settings):
    settings.SCHEDULE_SPREAD_SECONDS = 120
    due_schedule(alice, cadence={"kind": "once", "at": "2026-06-01T08:00"})
    assert fire(NOW) == 1
