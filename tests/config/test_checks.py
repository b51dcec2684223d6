"""Each system check fires for what it is there to find, and the shipped settings pass them all (R26)."""

from __future__ import annotations

import zoneinfo

import pytest
from django.conf import settings
from django.core.checks import run_checks
from django.db import connection

from config import checks

pytestmark = pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")

SQLITE = {"default": {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"transaction_mode": "IMMEDIATE"}}}
POSTGRESQL = {"default": {"ENGINE": "django.db.backends.postgresql"}}


def _ids(messages):
    return [message.id for message in messages]


def _cluster(**changed):
    return {**settings.Q_CLUSTER, **changed}


def test_the_shipped_settings_pass_every_check(db):
    assert [m for m in run_checks(databases=["default"]) if (m.id or "").startswith("quotidian.")] == []


@pytest.mark.parametrize(
    "changed",
    [
        {"CONNECT_SECONDS": 60},
        {"FIRST_TOKEN_SECONDS": 600},
        {"DEFAULT_DEADLINE_SECONDS": 3601},
        {"MAX_DEADLINE_SECONDS": 599},
        {"MAX_DEADLINE_SECONDS": 3601},
    ],
    ids=str,
)
def test_a_rung_out_of_order_in_the_ladder_of_a_call_is_e001(changed, settings):
    for name, value in changed.items():
        setattr(settings, name, value)
    assert _ids(checks.call_ladder()) == ["quotidian.E001"]


def test_a_lease_of_three_heartbeats_is_e002_and_a_second_more_is_not(settings):
    settings.LEASE_SECONDS = 3 * settings.HEARTBEAT_SECONDS
    assert _ids(checks.lease_ladder()) == ["quotidian.E002"]
    settings.LEASE_SECONDS += 1
    assert checks.lease_ladder() == []


def test_a_queue_timeout_that_a_last_turn_can_reach_is_e003(settings):
    longest = settings.DRAIN_PERIOD_SECONDS + settings.MAX_DEADLINE_SECONDS + 60
    settings.Q_CLUSTER = _cluster(timeout=longest)
    assert _ids(checks.queue_ladder()) == ["quotidian.E003"]
    settings.Q_CLUSTER = _cluster(timeout=longest + 1)
    assert checks.queue_ladder() == []


@pytest.mark.parametrize("changed", [{"timeout": None}, {"retry": 100}], ids=str)
def test_a_queue_that_redelivers_before_its_timeout_is_e003(changed, settings):
    settings.Q_CLUSTER = _cluster(**changed)
    assert _ids(checks.queue_ladder()) == ["quotidian.E003"]


def test_missing_zone_data_is_e004(monkeypatch):
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    assert _ids(checks.zone_data()) == ["quotidian.E004"]


def test_a_zone_that_cannot_be_read_is_e004(monkeypatch):
    monkeypatch.setattr(checks, "SAMPLE_ZONES", ("UTC", "Europe/Nowhere"))
    assert "Europe/Nowhere" in checks.zone_data()[0].msg


def test_one_worker_process_is_e005(settings):
    settings.Q_CLUSTER = _cluster(workers=1)
    assert _ids(checks.worker_processes()) == ["quotidian.E005"]


@pytest.mark.parametrize(("databases", "found"), [(SQLITE, ["quotidian.W006"]), (POSTGRESQL, [])], ids=["SQLite", "PG"])
def test_many_worker_processes_are_w006_on_sqlite_only(databases, found, settings):
    settings.Q_CLUSTER = _cluster(workers=8)
    settings.DATABASES = databases
    assert _ids(checks.worker_processes()) == found


def test_an_agent_on_the_demo_in_production_is_w007(settings, make_agent, make_model, make_provider):
    agent = make_agent(model=make_model(provider=make_provider(kind="demo")))
    assert checks.demo_provider_in_production(databases=["default"]) == []
    settings.PRODUCTION = True
    assert _ids(checks.demo_provider_in_production(databases=["default"])) == ["quotidian.W007"]
    assert checks.demo_provider_in_production(databases=None) == []
    agent.enabled = False
    agent.save(update_fields=["enabled"])
    assert checks.demo_provider_in_production(databases=["default"]) == []


def test_before_the_first_migration_the_demo_check_asks_no_table(settings, monkeypatch, db):
    settings.PRODUCTION = True
    monkeypatch.setattr(connection.introspection, "table_names", list)
    assert checks.demo_provider_in_production(databases=["default"]) == []


def test_sqlite_with_late_locks_is_e008(settings):
    settings.DATABASES = {"default": {**SQLITE["default"], "OPTIONS": {}}}
    assert _ids(checks.sqlite_locks_early()) == ["quotidian.E008"]
    settings.DATABASES = POSTGRESQL
    assert checks.sqlite_locks_early() == []
