"""What breaks at the fire breaks alone: a crash, a schedule that raises, a database that is away (R17, R20, R21)."""

import pytest
from django.db import OperationalError

from accounts.models import Notice
from chats.models import Turn
from schedules.models import Run, Schedule
from schedules.services import firing, isolate
from schedules.services.firing import fire_due
from tests.support.engine import HOUR, MINUTE, NOW, SECOND, due_schedule, fire, ledger

pytestmark = pytest.mark.django_db


class TestCrash:
    """R20, B47: opening the run and advancing the schedule are one transaction."""

    @pytest.mark.parametrize("step", ["insert", "_advance"])
    def test_a_crash_between_the_steps_leaves_the_occurrence_due(self, alice, monkeypatch, step):
        schedule = due_schedule(alice)
        owner = firing.lifecycle if step == "insert" else firing
        real = getattr(owner, step)

        def crash(*args, **kwargs):
            real(*args, **kwargs)
            raise KeyboardInterrupt  # as a kill: nothing in the product handles it

        monkeypatch.setattr(owner, step, crash)
        with pytest.raises(KeyboardInterrupt):
            fire_due(now=NOW)
        assert not Run.objects.exists()
        assert not Turn.objects.exists()
        monkeypatch.undo()
        assert fire(NOW + SECOND) == 1
        assert ledger(schedule) == [("queued", "", NOW)]

    def test_a_crash_after_the_commit_loses_the_hint_only(self, alice):
        """R22: the queued turn stands in the database, where the next look at the queue finds it."""
        due_schedule(alice)
        fire()
        assert Turn.objects.filter(status="queued", not_before__lte=NOW).count() == 1


class TestIsolation:
    """R21: one schedule that raises is put off alone; data that cannot be read is refused at once."""

    BROKEN = {
        "damaged rule": ({"cadence": {"kind": "never heard of"}}, "cadence_invalid"),
        "rule without its fields": ({"cadence": {"kind": "daily"}}, "cadence_invalid"),
        "rule of another type": ({"cadence": ["daily"]}, "cadence_invalid"),
        "unknown zone": ({"zone": "Nowhere/Zone"}, "zone_unknown"),
    }

    @pytest.mark.parametrize("name", BROKEN)
    def test_what_cannot_be_read_is_refused_and_blocked_beside_100_healthy_ones(self, alice, make_agent, name):
        """C7."""
        agent = make_agent()
        fields, reason = self.BROKEN[name]
        healthy = [due_schedule(alice, agent=agent, overlap_policy="allow") for _ in range(50)]
        broken = due_schedule(alice, agent=agent, **fields)
        healthy += [due_schedule(alice, agent=agent, overlap_policy="allow") for _ in range(50)]
        assert fire() == 100
        assert set(Run.objects.filter(status="queued").values_list("schedule", flat=True)) == {s.pk for s in healthy}
        assert ledger(broken) == [("refused", reason, NOW)]
        broken.refresh_from_db()
        assert (broken.blocked_reason, broken.next_run_at) == (reason, None)
        assert Notice.objects.filter(user=alice, code="schedule_blocked", subject=broken.public_id).count() == 1
        assert fire(NOW + HOUR) == 100
        assert Run.objects.filter(schedule=broken).count() == 1

    def test_a_rule_that_never_fires_again_completes(self, alice):
        rule = {"kind": "rrule", "dtstart": "2020-01-01T08:00", "rule": "FREQ=DAILY;COUNT=3"}
        schedule = due_schedule(alice, cadence=rule)
        healthy = due_schedule(alice)
        assert fire() == 1
        schedule.refresh_from_db()
        assert schedule.completed_at == NOW
        assert ledger(schedule) == []
        assert [row[0] for row in ledger(healthy)] == ["queued"]

    @pytest.fixture
    def raising(self, monkeypatch):
        """Return a switch: `raising(schedule)` makes planning it raise, None heals."""
        bad: list[int] = []
        real = firing.plan_schedule

        def plan(*, schedule, shared, now):
            if schedule.pk in bad:
                raise ZeroDivisionError("a bug")
            return real(schedule=schedule, shared=shared, now=now)

        monkeypatch.setattr(firing, "plan_schedule", plan)

        def switch(schedule):
            bad[:] = [] if schedule is None else [schedule.pk]

        return switch

    def test_a_schedule_that_raises_is_looked_at_again_after_30_s_doubling_to_5_min(self, alice, raising):
        broken, healthy = due_schedule(alice, overlap_policy="allow"), due_schedule(alice, overlap_policy="allow")
        raising(broken)
        now, waits = NOW, []
        for failures in range(1, isolate.MOST):
            fire(now)
            broken.refresh_from_db()
            assert (broken.look_failures, broken.look_error) == (failures, "ZeroDivisionError: a bug")
            waits.append((broken.next_run_at - now).total_seconds())
            now = broken.next_run_at
        assert waits == [30, 60, 120, 240, 300, 300, 300, 300, 300]
        assert ledger(broken) == []
        assert ledger(healthy)[0] == ("queued", "", NOW)

    def test_one_that_heals_in_time_runs_its_occurrence(self, alice, raising):
        """R5: put off is not lost, and lateness is asked when it runs."""
        schedule = due_schedule(alice)
        raising(schedule)
        fire()
        raising(None)
        fire(NOW + 30 * SECOND)
        assert ledger(schedule) == [("queued", "", NOW)]
        schedule.refresh_from_db()
        assert (schedule.look_failures, schedule.look_error, schedule.next_run_at) == (0, "", NOW + HOUR)

    def test_the_tenth_failure_is_refused_and_blocks_and_the_owner_is_told(self, alice, raising):
        schedule = due_schedule(alice, look_failures=isolate.MOST - 1)
        raising(schedule)
        fire()
        assert ledger(schedule) == [("refused", "internal", NOW)]
        assert Run.objects.get().error_text == "ZeroDivisionError: a bug"
        schedule.refresh_from_db()
        assert (schedule.blocked_reason, schedule.next_run_at) == ("internal", None)
        assert Notice.objects.filter(code="schedule_blocked").count() == 1

    def test_what_fell_due_while_it_was_put_off_has_its_row_too(self, alice, raising):
        """R5: a quarter of an hour of a five-minute rule."""
        schedule = due_schedule(alice, cadence={"kind": "cron", "expression": "*/5 * * * *"}, look_failures=9)
        raising(schedule)
        fire(NOW + 17 * MINUTE)
        assert ledger(schedule) == [("refused", "internal", NOW), ("missed", "misfire", NOW + 5 * MINUTE)]
        assert Run.objects.get(status="missed").missed_count == 3

    def test_a_tenth_failure_whose_occurrence_has_a_row_blocks_without_a_second(self, alice, raising):
        """R1, R21: not even the put-off of one schedule can stop the others."""
        schedule, healthy = due_schedule(alice, look_failures=isolate.MOST - 1), due_schedule(alice, at=NOW + SECOND)
        fire(NOW)
        Schedule.objects.filter(pk=schedule.pk).update(
            planned_through=NOW - HOUR, next_run_at=NOW, next_occurrence_at=NOW, look_failures=isolate.MOST - 1
        )
        raising(schedule)
        fire(NOW + SECOND)
        assert ledger(schedule) == [("queued", "", NOW)]
        assert Schedule.objects.get(pk=schedule.pk).blocked_reason == "internal"
        assert len(ledger(healthy)) == 1

    def test_a_row_that_the_database_refuses_is_one_schedules_trouble(self, alice, monkeypatch):
        """R21: the batch is undone, each is fired alone."""
        broken, healthy = due_schedule(alice), due_schedule(alice)
        real = firing.plan_schedule

        def plan(*, schedule, shared, now):
            made = real(schedule=schedule, shared=shared, now=now)
            if schedule.pk == broken.pk:
                made.runs[0].kind = "unheard of"
            return made

        monkeypatch.setattr(firing, "plan_schedule", plan)
        assert fire() == 1
        assert [row[0] for row in ledger(healthy)] == ["queued"]
        broken.refresh_from_db()
        assert (broken.look_failures, broken.next_run_at) == (1, NOW + 30 * SECOND)
        assert "IntegrityError" in broken.look_error


def test_one_schedule_for_which_the_database_always_fails_holds_up_no_other(alice, monkeypatch):
    """R17, R21."""
    poison, healthy = due_schedule(alice, at=NOW - MINUTE), due_schedule(alice)
    real = firing.shared_for

    def partly_away(schedules, *, now):
        if poison in schedules:
            raise OperationalError("the database is away")
        return real(schedules, now=now)

    monkeypatch.setattr(firing, "shared_for", partly_away)
    assert fire_due(now=NOW).queued == 1
    assert [row[0] for row in ledger(healthy)] == ["queued"]
    assert fire_due(now=NOW).held
    poison.refresh_from_db()
    assert (poison.next_run_at, poison.look_failures) == (NOW - MINUTE, 0)


def test_facts_that_cannot_be_read_are_no_answer(alice, monkeypatch):
    """R17, P13: the occurrence stays due, nothing counts against the schedule, and the next look fires it."""
    schedule = due_schedule(alice)

    def away(schedules, *, now):
        raise OperationalError("the database is away")

    monkeypatch.setattr(firing, "shared_for", away)
    for second in range(12):
        fire_due(now=NOW + second * SECOND)
    assert not Run.objects.exists()
    schedule.refresh_from_db()
    assert (schedule.next_run_at, schedule.look_failures, schedule.blocked_reason) == (NOW, 0, "")
    monkeypatch.undo()
    assert fire(NOW + 20 * SECOND) == 1
