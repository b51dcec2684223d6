"""The doctor finds each thing an operator would ask about, in words, and its exit code tells (wire.md, Commands)."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from accounts.services.stops import global_stop_set
from chats.models import WorkerHost
from config import doctor


@pytest.fixture
def data_dir(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    settings.STATIC_ROOT = tmp_path / "static"
    (tmp_path / "static").mkdir()
    (tmp_path / "static/staticfiles.json").touch()
    return tmp_path


def _said(examination, now):
    return [(finding.level, finding.sentence) for finding in examination(now)]


def _only(examination, now):
    (finding,) = examination(now)
    return finding.level, finding.sentence


def _host(now, **fields):
    return WorkerHost.objects.create(name="host", hostname="host", started_at=now, **fields)


def test_the_database_is_named_with_its_version(db, now):
    level, sentence = _only(doctor.database, now)
    assert level == "ok"
    assert connection.display_name in sentence


def test_migrations_are_all_applied(db, now):
    assert _only(doctor.migrations, now)[0] == "ok"


def test_a_clock_that_never_ticked_or_fell_silent_fails_and_one_that_ticks_does_not(db, now):
    assert _only(doctor.clock, now) == ("fail", "no worker has run yet: start `manage.py worker`")
    host = _host(now, clock_at=now - timedelta(seconds=31))
    assert _only(doctor.clock, now)[0] == "fail"
    WorkerHost.objects.filter(pk=host.pk).update(clock_at=now - timedelta(seconds=2))
    assert _only(doctor.clock, now) == ("ok", "ticked 2 s ago")


def test_work_that_waits_without_a_living_drain_fails_and_waiting_for_capacity_is_a_note(alice, make_turn, now):
    assert _only(doctor.drains, now)[0] == "ok"
    make_turn(owner=alice, now=now - timedelta(minutes=2))
    assert _only(doctor.drains, now)[0] == "fail"
    _host(now, drain_at=now)
    assert _only(doctor.drains, now)[0] == "note"


def test_under_the_global_stop_waiting_work_is_no_failure_and_the_stop_is_named(alice, olivia, make_turn, now):
    make_turn(owner=alice, now=now - timedelta(minutes=2))
    assert _said(doctor.stop, now) == []
    global_stop_set(on=True, reason="provider change", actor=olivia, now=now)
    assert _only(doctor.drains, now)[0] == "ok"
    assert _only(doctor.stop, now) == ("note", "is on: provider change")


def test_a_secret_that_others_can_read_fails_with_the_command_that_mends_it(data_dir, now):
    secret = data_dir / "encryption-key"
    secret.write_text("x")
    secret.chmod(0o600)
    assert [level for level, _ in _said(doctor.data_folder, now)] == ["ok"]
    secret.chmod(0o640)
    assert ("fail", f"{secret} can be read by others: run `chmod 600 {secret}`") in _said(doctor.data_folder, now)


def test_a_data_folder_that_cannot_be_written_fails(data_dir, now, monkeypatch):
    monkeypatch.setattr("config.doctor.os.access", lambda path, mode: False)
    assert _only(doctor.data_folder, now)[0] == "fail"


def test_a_full_disk_fails(data_dir, now, monkeypatch):
    monkeypatch.setattr(doctor, "LEAST_FREE_BYTES", 10**18)
    assert _only(doctor.data_folder, now)[0] == "fail"


def test_static_files_that_were_not_collected_fail(data_dir, now):
    assert _only(doctor.static_files, now)[0] == "ok"
    (data_dir / "static/staticfiles.json").unlink()
    assert _only(doctor.static_files, now)[0] == "fail"


def test_a_provider_without_its_key_fails_and_a_local_one_needs_none(make_provider, now, monkeypatch):
    assert _only(doctor.providers, now)[0] == "fail"
    make_provider(name="Own server")
    assert _only(doctor.providers, now) == ("ok", "Own server")
    make_provider(name="Cloud", kind="anthropic")
    named = make_provider(name="Named", key_env="NAMED_KEY")
    assert {sentence for level, sentence in _said(doctor.providers, now) if level == "fail"} == {
        "Cloud: it has no key",
        "Named: its key is expected in NAMED_KEY, which is not set",
    }
    monkeypatch.setenv("NAMED_KEY", "value")
    assert not any(named.name in sentence for level, sentence in _said(doctor.providers, now) if level == "fail")


def test_a_missing_local_model_fails_only_where_an_agent_needs_it(settings, make_agent, make_model, make_provider, now):
    settings.LOCAL_MODEL = False
    assert _only(doctor.local_model, now)[0] == "note"
    make_agent(model=make_model(provider=make_provider(kind="local", base_url="")))
    assert _only(doctor.local_model, now)[0] == "fail"


def test_somebody_must_be_able_to_operate(alice, now, make_user):
    assert _only(doctor.people, now)[0] == "fail"
    make_user(operator=True)
    assert _only(doctor.people, now)[0] == "ok"


def test_a_broker_that_does_not_answer_fails(db, now, monkeypatch):
    assert _only(doctor.broker, now)[0] == "ok"
    monkeypatch.setattr("chats.queue.waiting_hints", lambda: None)
    assert _only(doctor.broker, now)[0] == "fail"


def test_what_cannot_be_examined_is_said_and_hides_nothing(db, data_dir, now, monkeypatch):
    def broken(now):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(doctor, "WITH_TABLES", [broken, doctor.zones])
    findings = doctor.examine(now)
    assert doctor.fail("broken", "could not be examined: first line") in findings
    assert findings[-1].subject == "zone data"


def test_without_tables_only_what_needs_none_is_examined(db, data_dir, now, monkeypatch):
    monkeypatch.setattr(doctor, "FIRST", [lambda now: iter([doctor.fail("database", "does not answer")])])
    assert {finding.subject for finding in doctor.examine(now)} == {
        "database",
        "data folder",
        "zone data",
        "static files",
    }


@pytest.mark.parametrize("level", ["ok", "note", "fail"])
def test_the_exit_code_is_one_only_when_something_fails(level, monkeypatch, db):
    monkeypatch.setattr(
        "config.management.commands.doctor.examine", lambda now: [doctor.Finding(level, "clock", "a sentence")]
    )
    out = StringIO()
    if level == "fail":
        with pytest.raises(SystemExit) as ended:
            call_command("doctor", stdout=out)
        assert ended.value.code == 1
    else:
        call_command("doctor", stdout=out)
    assert "clock: a sentence" in out.getvalue()


def test_every_subject_of_a_new_deployment_is_examined(olivia, data_dir, now):
    subjects = {finding.subject for finding in doctor.examine(now)}
    assert {"database", "migrations", "settings", "broker", "clock", "drains", "local model", "providers"} <= subjects
