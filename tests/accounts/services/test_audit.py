"""The audit log: only ever added to, in the transaction of the act, and nameless once a person is erased (A6)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.http import HttpResponse
from django.test import RequestFactory

from accounts.models import AppendOnly, AuditEntry, AuditSubject, LimitSet, PersonKey, User
from accounts.services.access import access_set
from accounts.services.audit import audit, audit_changed, person_forget, person_key
from accounts.services.limits import limits_set
from accounts.services.stops import global_stop_set
from accounts.services.tokens import token_create, token_revoke
from core.asking import AskingMiddleware, asked_by, asking
from core.errors import Refusal
from tests.factories import NOW
from tests.support.engine import at_once

migration = importlib.import_module("accounts.migrations.0004_audit")


@pytest.fixture
def entry(olivia: Any) -> AuditEntry:
    return audit(act="globalstop.changed", actor=olivia, before={"on": False}, after={"on": True}, now=NOW)


@pytest.fixture
def guarded(entry: AuditEntry) -> Iterator[AuditEntry]:
    """An entry under the triggers as the migration makes them."""
    with _cursor() as editor:
        migration.guard(None, editor)
    yield entry
    with _cursor() as editor:
        if connection.vendor == "sqlite":
            editor.execute("DROP TRIGGER audit_DELETE")


class _cursor:
    """What the migration asks of a schema editor, inside the transaction of a test."""

    connection = connection

    def __enter__(self) -> _cursor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql)


CHANGES = {
    "save": lambda entry: entry.save(),
    "update": lambda entry: AuditEntry.objects.update(act="nothing"),
    "filtered update": lambda entry: AuditEntry.objects.filter(pk=entry.pk).update(who=""),
    "bulk update": lambda entry: AuditEntry.objects.bulk_update([entry], ["act"]),
    "base manager": lambda entry: AuditEntry._base_manager.filter(pk=entry.pk).delete(),
    "delete": lambda entry: entry.delete(),
    "delete all": lambda entry: AuditEntry.objects.all().delete(),
    "update or create": lambda entry: AuditEntry.objects.update_or_create(pk=entry.pk, defaults={"act": "nothing"}),
}


@pytest.mark.parametrize("how", CHANGES)
def test_no_entry_is_changed_or_removed_through_the_orm(how: str, entry: AuditEntry):
    before = AuditEntry.objects.values().get(pk=entry.pk)
    with pytest.raises(AppendOnly):
        CHANGES[how](entry)
    assert AuditEntry.objects.values().get(pk=entry.pk) == before


@pytest.mark.parametrize(
    "statement", ["UPDATE accounts_auditentry SET act = 'nothing'", "DELETE FROM accounts_auditentry"]
)
def test_the_database_itself_refuses_to_change_or_remove_an_entry(statement: str, guarded: AuditEntry):
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert AuditEntry.objects.get(pk=guarded.pk).act == "globalstop.changed"


def test_the_triggers_are_there_after_all_migrations(db: None):
    """On SQLite the one against removal is left out for tests (tests/conftest.py)."""
    table = (
        "sqlite_master WHERE type = 'trigger' AND name" if connection.vendor == "sqlite" else "pg_trigger WHERE tgname"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {table} LIKE 'audit%%'")
        assert cursor.fetchone()[0] == 1


def test_what_is_rolled_back_is_not_noted_and_what_cannot_be_noted_is_not_done(olivia: Any, monkeypatch: Any):
    before = AuditEntry.objects.count()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        global_stop_set(on=True, reason="maintenance", actor=olivia, now=NOW)
        raise ZeroDivisionError
    assert AuditEntry.objects.count() == before
    monkeypatch.setattr("accounts.services.limits.audit", lambda **entry: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        limits_set(scope="deployment", values={"max_schedules": 1}, actor=olivia, now=NOW)
    assert not LimitSet.objects.exists()


def test_the_last_operator_is_refused_without_an_entry(olivia: Any):
    before = AuditEntry.objects.count()
    with pytest.raises(Refusal):
        access_set(user=olivia, values={"is_active": False}, actor=olivia, now=NOW)
    assert AuditEntry.objects.count() == before


def test_only_what_differs_is_told_and_nothing_is_no_act(olivia: Any):
    same = audit_changed(act="x.changed", subject=olivia, before={"a": 1}, after={"a": 1}, now=NOW)
    assert same is None
    entry = audit_changed(act="x.changed", subject=olivia, before={"a": 1, "b": 2}, after={"a": 1, "b": 3}, now=NOW)
    assert entry is not None
    assert (entry.before, entry.after) == ({"b": 2}, {"b": 3})


def test_a_person_is_known_by_one_random_key(alice: Any, bob: Any):
    key = person_key(alice)
    assert person_key(alice) == key
    assert key != person_key(bob)
    assert alice.public_id.removeprefix("usr_") not in key


def test_a_token_is_noted_when_it_is_made_and_revoked_without_its_name_and_secret(alice: Any):
    token, secret = token_create(user=alice, name="My own words", scopes=["runs:read"], actor=alice, now=NOW)
    token_revoke(token=token, actor=alice, now=NOW)
    token_revoke(token=token, actor=alice, now=NOW)
    entries = AuditEntry.objects.filter(kind="apitoken").order_by("pk")
    assert [entry.act for entry in entries] == ["apitoken.added", "apitoken.removed"]
    assert {(entry.who, entry.whom) for entry in entries} == {(person_key(alice), person_key(alice))}
    assert entries[0].of.public_id == token.public_id
    kept = str(list(entries.values()))
    assert not any(word in kept for word in ("My own words", secret, token.digest, token.token_key, token.public_id))


def test_an_erased_person_leaves_entries_that_name_nobody(alice: Any, olivia: Any, make_schedule: Any):
    """A6"""
    schedule = make_schedule(owner=alice)
    audit(act="schedule.paused", actor=olivia, subject=schedule, now=NOW)
    audit(act="user.access", actor=alice, subject=alice, before={"owner": alice}, now=NOW)
    key = person_key(alice)
    count = AuditEntry.objects.count()
    person_forget(user=alice)
    assert not PersonKey.objects.filter(key=key).exists()
    assert not AuditSubject.objects.filter(public_id=schedule.public_id).exists()
    assert AuditEntry.objects.count() == count
    kept = str(list(AuditEntry.objects.values())) + str(list(AuditSubject.objects.values()))
    assert not any(word in kept for word in (alice.email, alice.public_id, schedule.public_id, schedule.name))
    assert AuditEntry.objects.filter(whom=key).exists()


def test_deleting_the_row_of_a_person_forgets_them_too(bob: Any):
    """A6"""
    audit(act="user.access", subject=bob, now=NOW)
    token, _ = token_create(user=bob, name="CI", scopes=["runs:read"], now=NOW)
    token.delete()
    User.objects.get(pk=bob.pk).delete()
    assert not PersonKey.objects.exists()
    assert not AuditSubject.objects.exists()
    assert AuditEntry.objects.filter(act="apitoken.added").exists()


def test_a_request_gives_its_entries_its_id_and_its_face(db: None):
    def answer(request: Any) -> Any:
        return HttpResponse(f"{asking().source} {asking().request_id}")

    face = AskingMiddleware(answer)
    for path, source in (("/admin/", "admin"), ("/api/v1/me", "api"), ("/panel/", "panel")):
        given = face(RequestFactory().get(path, headers={"X-Request-ID": "proxy-12345678"}))
        assert given.content.decode() == f"{source} proxy-12345678"
        assert given["X-Request-ID"] == "proxy-12345678"
    made = face(RequestFactory().get("/panel/", headers={"X-Request-ID": "<script>"}))
    assert len(made["X-Request-ID"]) == 32
    assert asking().source == "system"


def test_what_a_command_does_is_noted_as_such(db: None):
    with asked_by("command"):
        entry = audit(act="globalstop.changed", now=NOW)
    assert (entry.source, entry.who) == ("command", "")


@pytest.mark.django_db(transaction=True)
def test_two_first_acts_at_once_find_one_key_for_a_person(alice: Any):
    """On both databases: the second waits at the unique index, and neither loses its entry."""

    def act() -> Any:
        with transaction.atomic():
            return audit(act="user.access", actor=alice, subject=alice, now=NOW)

    PersonKey.objects.all().delete()
    entries = at_once([act] * 4)
    assert {(entry.who, entry.whom) for entry in entries} == {(person_key(alice), person_key(alice))}
    assert AuditEntry.objects.filter(act="user.access").count() == 4
