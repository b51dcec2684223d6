"""What was written past every check breaks alone: its own reason, its own block, and then the clock is idle (R5, R21)."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient

from accounts.models import Notice
from agents.models import Agent
from chats.models import Turn, WorkerHost
from core.errors import Refusal
from schedules import clock as clock_module
from schedules.clock import Clock
from schedules.domain.cadence import stored_cadence
from schedules.domain.occurrences_window import never_due
from schedules.models import Run, Schedule
from schedules.services import firing
from schedules.services.editing import schedule_edit
from schedules.services.firing import due_left, fire_due
from schedules.services.reconcile import reconcile
from schedules.services.switching import schedule_resume
from tests.support.engine import HOUR, MINUTE, NOW, SECOND, due_schedule, fire, ledger, row_gone

pytestmark = pytest.mark.django_db

NEVER = {"kind": "rrule", "dtstart": "2020-01-01T08:00", "rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}
REASONS = {
    "cadence": "cadence_invalid",
    "zone": "zone_unknown",
    "rule": "cadence_never_fires",
    "agent": "agent_deleted",
}


def written(schedule, **columns):
    Schedule.objects.filter(pk=schedule.pk).update(**columns)
    return schedule


@pytest.fixture
def broken(alice, make_agent):
    """One schedule of each kind of damage, due in one second, with an agent's row that is gone."""
    agent, gone = make_agent(), make_agent()
    made = {
        "cadence": written(due_schedule(alice, agent=agent), cadence="every morning, please"),
        "zone": written(due_schedule(alice, agent=agent), zone="Atlantis/Poseidonis"),
        "rule": written(due_schedule(alice, agent=agent), cadence=NEVER),
        "agent": due_schedule(alice, agent=gone),
    }
    row_gone(gone)
    return made


@pytest.fixture
def healthy(alice, make_agent):
    agent = make_agent()
    return [due_schedule(alice, agent=agent) for _ in range(100)]


class TestBeside100Healthy:
    """Unreadable cadence, unknown zone, a rule that never yields, an agent's row that is gone."""

    @pytest.fixture
    def ticking(self, monkeypatch):
        """A host's clock, with nobody to hint."""
        monkeypatch.setattr(clock_module, "hint_drain", lambda: True)
        WorkerHost.objects.create(name="host", hostname="host", started_at=NOW)
        return Clock(host="host")

    def test_one_tick_queues_the_healthy_and_refuses_each_broken_one_for_its_own_reason(self, healthy, broken, ticking):
        assert ticking.tick(NOW) == 100
        queued = Run.objects.filter(status="queued", turn__status="queued")
        assert set(queued.values_list("schedule", flat=True)) == {schedule.pk for schedule in healthy}
        for kind, schedule in broken.items():
            assert ledger(schedule) == [("refused", REASONS[kind], NOW)]
            schedule.refresh_from_db()
            assert (schedule.blocked_reason, schedule.next_run_at) == (REASONS[kind], None)
            told = Notice.objects.filter(user=schedule.owner, code="schedule_blocked", subject=schedule.public_id)
            assert told.count() == 1
        assert Run.objects.count() == 104
        assert Turn.objects.count() == 100

    def test_the_next_tick_finds_nothing_due_and_says_no_more_than_that_it_lives(self, healthy, broken, ticking):
        ticking.tick(NOW)
        assert not due_left(now=NOW + SECOND)
        with CaptureQueriesContext(connection) as asked:
            assert ticking.tick(NOW + SECOND) == 0
        said = [query["sql"] for query in asked]
        assert [sql.split()[0] for sql in said] == ["UPDATE", "SELECT", "SELECT"]
        assert WorkerHost._meta.db_table in said[0]
        assert all("next_run_at" in sql for sql in said[1:])

    def test_an_hour_later_the_healthy_are_due_again_and_the_broken_ones_are_not_looked_at(self, healthy, broken):
        assert fire() == 100
        Run.objects.filter(status="queued").update(status="succeeded", settled_at=NOW)
        assert fire(NOW + HOUR) == 100
        assert all(len(ledger(schedule)) == 1 for schedule in broken.values())

    def test_all_four_are_refused_too_when_each_schedule_is_fired_alone(self, healthy, broken, monkeypatch):
        """R21: a row that the database refuses undoes the batch."""
        real = firing.plan_schedule

        def plan(*, schedule, shared, now):
            made = real(schedule=schedule, shared=shared, now=now)
            if schedule.pk == healthy[0].pk:
                made.runs[0].kind = "unheard of"
            return made

        monkeypatch.setattr(firing, "plan_schedule", plan)
        assert fire_due(now=NOW).queued == 99
        assert [ledger(schedule)[0][:2] for schedule in broken.values()] == [
            ("refused", REASONS[kind]) for kind in broken
        ]


def test_a_row_that_no_claim_can_read_holds_up_no_other(alice, monkeypatch):
    """R21: an instant that is none, which SQLite stores, fails every read of its row, and of any batch with it."""
    poison, others = due_schedule(alice), [due_schedule(alice), due_schedule(alice)]
    real = firing.locked

    def reading(rows, **how):
        if poison in rows:
            raise ValueError("month must be in 1..12")
        return real(rows, **how)

    monkeypatch.setattr(firing, "locked", reading)
    assert fire_due(now=NOW).queued == 2
    assert [ledger(schedule)[0][0] for schedule in others] == ["queued", "queued"]
    assert ledger(poison) == []
    assert fire_due(now=NOW).held


class TestAgentGone:
    """Gate row 8; P8: gone is never none."""

    def test_a_tombstone_with_its_id_takes_the_place_and_everything_that_names_it_is_whole(
        self, alice, bob, make_agent, make_conversation
    ):
        agent = make_agent(name="Gone for good")
        mine, theirs = due_schedule(alice, agent=agent), due_schedule(bob, agent=agent)
        talk = make_conversation(owner=alice, agent=agent)
        row_gone(agent)
        fire()
        found = Agent.objects.get(pk=agent.pk)
        assert (str(found), found.enabled, found.deleted_at) == ("Deleted agent", False, NOW)
        assert not found.model.enabled and found.model.deleted_at and found.model.provider.deleted_at
        assert [ledger(schedule)[0][:2] for schedule in (mine, theirs)] == [("refused", "agent_deleted")] * 2
        talk.refresh_from_db()
        assert talk.agent == found
        connection.check_constraints()

    def test_two_agents_gone_at_different_times_stand_on_one_deleted_model(self, alice, make_agent):
        agents = [make_agent(), make_agent()]
        for number, agent in enumerate(agents):
            due_schedule(alice, agent=agent, at=NOW + number * HOUR)
            row_gone(agent)
            fire(NOW + number * HOUR)
        models = Agent.objects.filter(pk__in=[agent.pk for agent in agents]).values_list("model", flat=True)
        assert len(models) == 2 and len(set(models)) == 1

    def test_what_was_missed_beyond_its_grace_is_missed_and_not_refused(self, alice, make_agent):
        """C10: lateness is decided first, from the calendar alone."""
        agent = make_agent()
        schedule = due_schedule(alice, agent=agent)
        row_gone(agent)
        fire(NOW + 30 * MINUTE)
        assert ledger(schedule) == [("missed", "misfire", NOW)]

    def test_a_tenth_failed_look_has_its_row_too(self, alice, make_agent, monkeypatch):
        """R21: what is given up names the agent as well."""
        agent = make_agent()
        schedule = due_schedule(alice, agent=agent, look_failures=9)
        row_gone(agent)

        def broken(**_):
            raise ZeroDivisionError("a bug")

        monkeypatch.setattr(firing, "shared_for", broken)
        fire()
        assert ledger(schedule) == [("refused", "internal", NOW)]
        connection.check_constraints()

    def test_another_agent_lets_it_go_on(self, alice, make_agent):
        agent, other = make_agent(), make_agent()
        schedule = due_schedule(alice, agent=agent)
        row_gone(agent)
        fire()
        schedule.refresh_from_db()
        body = {"agent": other.public_id}
        schedule_edit(schedule=schedule, body=body, now=NOW + MINUTE)
        assert fire(NOW + HOUR) == 1
        assert [row[0] for row in ledger(schedule)] == ["refused", "queued"]

    @pytest.fixture
    def looks(self, alice, olivia, client):
        """Return `looks(schedule)`: status and text of every face that shows schedules or runs."""
        operator = Client()
        operator.force_login(olivia)
        client.force_login(alice)
        api = APIClient()
        api.force_login(alice)

        def look(schedule):
            run = Run.objects.filter(schedule=schedule).first()
            admins = ["schedules_schedule", "schedules_run", "chats_turn", "chats_conversation", "agents_agent"]
            pages = {
                **dict.fromkeys(("/panel/", "/panel/updates", "/runs/"), client),
                **{f"/schedules/{schedule.public_id}/{page}": client for page in ("", "edit")},
                **dict.fromkeys(("/api/v1/schedules", "/api/v1/runs", "/api/v1/conversations"), api),
                **{f"/api/v1/schedules/{schedule.public_id}{path}": api for path in ("", "/runs")},
                **{reverse(f"admin:{name}_changelist"): operator for name in admins},
                reverse("admin:index"): operator,
                reverse("admin:schedules_schedule_change", args=[schedule.pk]): operator,
            }
            if run is not None:
                pages[f"/api/v1/runs/{run.public_id}"] = api
                pages[reverse("admin:schedules_run_change", args=[run.pk])] = operator
            answers = {path: asker.get(path) for path, asker in pages.items()}
            return {path: (answer.status_code, answer.content.decode()) for path, answer in answers.items()}

        return look

    def test_no_page_breaks_before_the_fire_and_all_show_a_deleted_agent_after_it(self, alice, make_agent, looks):
        agent = make_agent()
        schedule = due_schedule(alice, agent=agent, name="Morning in Atlantis")
        row_gone(agent)
        assert {status for status, _ in looks(schedule).values()} <= {200, 302, 404}
        fire()
        after = looks(schedule)
        assert {path: status for path, (status, _) in after.items() if status != 200} == {}
        for path in ("/panel/", "/api/v1/schedules", reverse("admin:schedules_schedule_changelist"), "/runs/"):
            assert "Morning in Atlantis" in after[path][1], path
        assert '"state":"deleted"' in after["/api/v1/schedules"][1]
        assert "agent_deleted" in after["/api/v1/runs"][1]


class TestRuleThatNeverYields:
    def test_a_resume_is_refused_and_a_new_name_keeps_the_block(self, alice):
        """R14, R18: what the next fire refuses, no switch-on accepts."""
        schedule = written(due_schedule(alice), cadence=NEVER)
        fire()
        with pytest.raises(Refusal) as refused:
            schedule_resume(schedule=schedule, now=NOW + MINUTE)
        assert refused.value.code == "cadence_never_fires"
        schedule.refresh_from_db()
        row = schedule_edit(schedule=schedule, body={"name": "New"}, now=NOW + MINUTE)
        assert (row.blocked_reason, row.completed_at) == ("cadence_never_fires", None)

    def test_a_new_rule_lets_it_go_on(self, alice):
        schedule = written(due_schedule(alice), cadence=NEVER)
        fire()
        schedule.refresh_from_db()
        body = {"cadence": {"kind": "hourly", "minute": 0}}
        row = schedule_edit(schedule=schedule, body=body, now=NOW + MINUTE)
        assert (row.blocked_reason, row.next_run_at) == ("", NOW + HOUR)

    @pytest.mark.parametrize(
        ("cadence", "never"),
        [
            (NEVER, True),
            (NEVER | {"rule": "FREQ=DAILY;UNTIL=20190101"}, True),
            (NEVER | {"rule": "FREQ=DAILY", "dtstart": "2050-01-01T08:00"}, True),
            ({"kind": "interval", "every": 1, "unit": "hours", "anchor": "2050-01-01T00:00:00Z"}, True),
            ({"kind": "daily", "time": "09:00", "every": 2, "anchor": "2050-01-01"}, True),
            (NEVER | {"rule": "FREQ=DAILY;COUNT=3"}, False),
            (NEVER | {"rule": "FREQ=DAILY;UNTIL=20200102"}, False),
            (NEVER | {"rule": "FREQ=DAILY"}, False),
            ({"kind": "interval", "every": 1, "unit": "hours", "anchor": "2020-01-01T00:00:00Z"}, False),
            ({"kind": "weekly", "days": ["mon"], "time": "09:00", "every": 2, "anchor": "2026-06-08"}, False),
            ({"kind": "once", "at": "2020-01-01T08:00"}, False),
            ({"kind": "yearly", "month": 2, "day": 29, "time": "09:00"}, False),
        ],
    )
    def test_a_used_up_rule_is_no_rule_that_never_yields(self, cadence, never):
        assert never_due(stored_cadence(cadence), "Europe/Berlin", NOW) is never


def test_recovery_leaves_what_is_blocked_alone(broken):
    """R6: nothing of it is armed again."""
    fire()
    reconcile(now=NOW + MINUTE)
    assert not Schedule.objects.filter(next_run_at__isnull=False).exists()
    assert Run.objects.count() == 4
