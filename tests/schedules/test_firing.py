"""From due to opened: one row per occurrence, in one transaction, whatever else is broken."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from accounts.models import GlobalStop, Notice
from chats.models import Turn
from schedules.models import Run, Schedule
from schedules.services import firing, isolate
from schedules.services.firing import fire_due
from tests.support.engine import DAY, HOUR, MINUTE, NOW, SECOND, at_once, due_schedule, fire, ledger

TEN = NOW + 2 * HOUR
pytestmark = pytest.mark.django_db


def test_a_due_occurrence_becomes_a_queued_run_with_its_snapshot_and_its_turn(alice, make_project):
    project = make_project(owner=alice)
    schedule = due_schedule(alice, project=project, name="News", prompt="What is new?", deadline_seconds=120)
    assert fire() == 1
    run = Run.objects.get()
    assert (run.status, run.kind, run.scheduled_for, run.due_at) == ("queued", "scheduled", NOW, NOW)
    assert (run.name, run.prompt, run.agent_id) == ("News", "What is new?", schedule.agent_id)
    assert (run.project_id, run.project_recorded, run.late, run.shifted) == (project.pk, True, False, False)
    assert run.idempotency_key == f"sched:{schedule.public_id}:{NOW.isoformat()}"
    assert (run.turn.status, run.turn.deadline_seconds, run.turn.conversation_id) == ("queued", 120, None)
    schedule.refresh_from_db()
    assert schedule.planned_through == NOW
    assert (schedule.next_run_at, schedule.next_occurrence_at) == (NOW + HOUR, NOW + HOUR)


def test_a_second_look_finds_nothing(alice):
    """R1, C14: also after a restart, since what was fired rests in the rows."""
    schedule = due_schedule(alice)
    assert (fire(), fire(), fire(NOW + MINUTE)) == (1, 0, 0)
    assert Run.objects.filter(schedule=schedule).count() == 1


def test_nothing_fires_before_its_instant(alice):
    due_schedule(alice)
    assert fire(NOW - SECOND) == 0
    assert not Run.objects.exists()


def test_an_occurrence_that_has_its_row_is_never_opened_again_and_the_schedule_goes_on(alice):
    """R1, C14, C15: a mark that stands too early (a clock put back, a restored backup) makes no second row."""
    schedule = due_schedule(alice)
    fire()
    Schedule.objects.filter(pk=schedule.pk).update(planned_through=NOW - HOUR, next_run_at=NOW)
    assert fire(NOW + MINUTE) == 0
    assert ledger(schedule) == [("queued", "", NOW)]
    schedule.refresh_from_db()
    assert (schedule.next_run_at, schedule.look_failures, schedule.blocked_reason) == (NOW + HOUR, 0, "")


def test_a_mark_before_a_missed_window_makes_no_second_one(alice):
    """R1, R5."""
    schedule = due_schedule(alice, planned_through=NOW - 10 * HOUR, next_run_at=NOW - 9 * HOUR)
    fire(NOW + 20 * MINUTE)
    assert [row[0] for row in ledger(schedule)] == ["missed"]
    Schedule.objects.filter(pk=schedule.pk).update(planned_through=NOW - 10 * HOUR, next_run_at=NOW - 9 * HOUR)
    fire(NOW + 21 * MINUTE)
    assert Run.objects.filter(schedule=schedule).count() == 1
    schedule.refresh_from_db()
    assert schedule.next_run_at == NOW + HOUR


def test_every_occurrence_that_passed_is_covered_by_exactly_one_row(alice):
    """R5: over ticks that come early, late and not for hours, with skips among them."""
    schedule = due_schedule(
        alice, overlap_policy="allow", misfire_policy="run_once", skip_dates=["2026-06-02"], next_run_at=NOW,
    )  # fmt: skip
    for minutes in (0, 1, 59, 61, 200, 201, 1000, 1500, 1501, 2900, 2950):
        fire(NOW + minutes * MINUTE)
    covered = []
    for run in Run.objects.filter(schedule=schedule).order_by("scheduled_for"):
        count = run.missed_count or 1
        last = run.missed_until or run.scheduled_for
        assert last == run.scheduled_for + (count - 1) * HOUR
        covered += [run.scheduled_for + n * HOUR for n in range(count)]
    assert covered == [NOW + n * HOUR for n in range(2950 // 60 + 1)]


@pytest.mark.parametrize(
    ("fields", "ended"),
    [
        ({}, False),
        ({"until": NOW}, True),
        ({"until": NOW + HOUR}, False),
        ({"max_runs": 1}, True),
        ({"max_runs": 2}, False),
        ({"cadence": {"kind": "once", "at": "2026-06-01T08:00"}}, True),
        ({"skip_dates": ["2026-06-01"]}, False),
    ],
)
def test_after_a_fire_a_schedule_is_armed_or_completed(alice, fields, ended):
    """R6; B33, B75: nothing is on without a next look, and nothing completed has one."""
    schedule = due_schedule(alice, **fields)
    fire()
    schedule.refresh_from_db()
    assert (schedule.completed_at is not None) is ended
    assert (schedule.next_run_at is None) is ended
    assert schedule.is_on is not ended


def test_a_refusal_leaves_a_row_with_its_reason_and_no_turn(alice, make_agent, bob):
    """R16: before anything is billed; the schedule is blocked and its owner is told once (R15)."""
    schedule = due_schedule(alice, agent=make_agent(owner=bob, name="Bob's"))
    assert fire() == 0
    run = Run.objects.get()
    assert (run.status, run.reason, run.reason_params) == ("refused", "agent_forbidden", {"agent": "Bob's"})
    assert (run.turn, run.settled_at, run.started_at) == (None, NOW, None)
    assert not Turn.objects.exists()
    schedule.refresh_from_db()
    assert (schedule.blocked_reason, schedule.blocked_params) == ("agent_forbidden", {"agent": "Bob's"})
    assert (schedule.next_run_at, schedule.last_run_id, schedule.planned_through) == (None, run.pk, NOW)
    assert fire(NOW + DAY) == 0
    assert Notice.objects.filter(user=alice, code="schedule_blocked").count() == 1


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
    """Gate rows 3 to 5 and 7; row 3 and 4 leave the schedule on, so that lifting them needs no undo (C12)."""
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


class TestCrash:
    """R20: opening the run and advancing the schedule are one transaction."""

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

    def partly_away(schedules):
        if poison in schedules:
            raise OperationalError("the database is away")
        return real(schedules)

    monkeypatch.setattr(firing, "shared_for", partly_away)
    assert fire_due(now=NOW).queued == 1
    assert [row[0] for row in ledger(healthy)] == ["queued"]
    assert fire_due(now=NOW).held
    poison.refresh_from_db()
    assert (poison.next_run_at, poison.look_failures) == (NOW - MINUTE, 0)


def test_facts_that_cannot_be_read_are_no_answer(alice, monkeypatch):
    """R17, P13: the occurrence stays due, nothing counts against the schedule, and the next look fires it."""
    schedule = due_schedule(alice)

    def away(schedules):
        raise OperationalError("the database is away")

    monkeypatch.setattr(firing, "shared_for", away)
    for second in range(12):
        fire_due(now=NOW + second * SECOND)
    assert not Run.objects.exists()
    schedule.refresh_from_db()
    assert (schedule.next_run_at, schedule.look_failures, schedule.blocked_reason) == (NOW, 0, "")
    monkeypatch.undo()
    assert fire(NOW + 20 * SECOND) == 1


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    """R1, B48, B49: many clocks at the same second."""

    def test_two_clocks_open_one_row_per_occurrence(self, alice, make_agent):
        agent = make_agent()
        for _ in range(60):
            due_schedule(alice, agent=agent)
        queued = at_once([lambda: sum(fire_due(now=NOW, most=7).queued for _ in range(12))] * 3)
        assert sum(queued) == 60
        assert Run.objects.count() == Turn.objects.count() == 60
        assert Schedule.objects.filter(next_run_at=NOW + HOUR).count() == 60

    def test_a_clock_that_reads_an_old_row_loses_to_the_index(self, alice, monkeypatch):
        """R1: also without any lock, the database refuses the second row."""
        schedule = due_schedule(alice)
        stale = list(Schedule.objects.select_related("agent"))
        fire()
        monkeypatch.setattr(firing, "_claim", lambda now, most: stale)
        fire_due(now=NOW)
        assert Run.objects.count() == Turn.objects.count() == 1
        assert Schedule.objects.get(pk=schedule.pk).next_run_at == NOW + HOUR


def test_the_spread_moves_the_due_instant_and_nothing_else(alice, settings):
    """C8: due, grace and lateness count from `due_at`; the ledger keeps the nominal time."""
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
