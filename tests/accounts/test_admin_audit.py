"""Every page of operators that changes anything, and every command of theirs, leaves an entry in the audit log."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.core.management import call_command, get_commands
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import AuditEntry, GlobalStop, LimitSet
from accounts.services.audit import audit, person_key
from accounts.services.tokens import token_create
from core.admin import ReadOnlyAdmin
from projects.models import ProjectPolicy
from tests import factories
from tests.factories import NOW

Act = Callable[[Client, Any], Any]


@pytest.fixture
def operator_client(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def post(name: str, data: dict[str, Any] | None = None, *args: Any) -> Act:
    return lambda client, row: client.post(
        reverse(f"admin:{name}", args=args or ([row] if row is not None else [])), data or {}
    )


def _user(alice: Any) -> Any:
    alice.groups.clear()
    return alice.pk


def _token(alice: Any) -> Any:
    return token_create(user=alice, name="CI", scopes=["runs:read"], now=NOW)[0].public_id


def _group(alice: Any) -> Any:
    return Group.objects.create(name="Testers").pk


def _limits(alice: Any) -> Any:
    return LimitSet.objects.create(scope="user", user=alice, updated_at=NOW).pk


def _policy(alice: Any) -> Any:
    return ProjectPolicy.objects.create(scope="deployment", updated_at=NOW).pk


def _stop(alice: Any) -> Any:
    return GlobalStop.objects.get_or_create(pk=1)[0].pk


_USER = {"display_name": "Al", "zone": "UTC", "locale": "en", "clock": "24", "first_weekday": 0, "theme": "system"}
_PROVIDER = {"name": "One", "base_url": "https://user:word@api.example.com/v1?key=word", "enabled": "on"}
_AGENT = {"name": "Helper", "tools": "{}", "enabled": "on", "instructions": "Be brief."}
PERSON = {"email": "carol@example.com", "new_password": "correct horse battery", "zone": "UTC"}

CASES: dict[str, tuple[Callable[[Any], Any] | None, Act, str]] = {
    "accounts.User add": (None, post("accounts_user_add", PERSON), "user.added"),
    "accounts.User change": (_user, post("accounts_user_change", {**_USER, "is_active": "on"}), "user.changed"),
    "accounts.ApiToken delete": (_token, post("accounts_apitoken_delete", {"post": "yes"}), "apitoken.removed"),
    "accounts.GlobalStop change": (
        _stop, post("accounts_globalstop_change", {"on": "on", "reason": "Work"}), "globalstop.changed",
    ),
    "accounts.LimitSet add": (
        None, post("accounts_limitset_add", {"scope": "deployment", "enabled": "true"}), "limitset.added",
    ),
    "accounts.LimitSet change": (
        _limits, post("accounts_limitset_change", {"enabled": "unknown", "daily_runs": 3}), "limitset.changed",
    ),
    "accounts.LimitSet delete": (_limits, post("accounts_limitset_delete", {"post": "yes"}), "limitset.removed"),
    "auth.Group add": (None, post("auth_group_add", {"name": "Testers"}), "group.added"),
    "auth.Group change": (_group, post("auth_group_change", {"name": "Others"}), "group.changed"),
    "auth.Group delete": (_group, post("auth_group_delete", {"post": "yes"}), "group.removed"),
    "projects.ProjectPolicy add": (
        None, post("projects_projectpolicy_add", {"scope": "deployment", "require_project": "true", "pin": "inherit"}),
        "projectpolicy.added",
    ),
    "projects.ProjectPolicy change": (
        _policy, post("projects_projectpolicy_change", {"require_project": "true", "pin": "inherit"}),
        "projectpolicy.changed",
    ),
    "projects.ProjectPolicy delete": (
        _policy, post("projects_projectpolicy_delete", {"post": "yes"}), "projectpolicy.removed",
    ),
    "projects.ChatProject delete": (
        lambda alice: factories.make_project(owner=alice).pk,
        post("projects_chatproject_delete", {"post": "yes"}), "chatproject.removed",
    ),
    "agents.ModelProvider add": (
        None, post("agents_modelprovider_add", {**_PROVIDER, "kind": "openai"}), "modelprovider.added",
    ),
    "agents.ModelProvider change": (
        lambda alice: factories.make_provider().pk, post("agents_modelprovider_change", {**_PROVIDER, "key": "secret"}),
        "modelprovider.changed",
    ),
    "agents.ModelProvider delete": (
        lambda alice: factories.make_provider().pk, post("agents_modelprovider_delete", {"post": "yes"}),
        "modelprovider.removed",
    ),
    "agents.ChatModel change": (
        lambda alice: factories.make_model().pk, post("agents_chatmodel_change", {"name": "other", "enabled": "on"}),
        "chatmodel.changed",
    ),
    "agents.ChatModel delete": (
        lambda alice: factories.make_model().pk, post("agents_chatmodel_delete", {"post": "yes"}), "chatmodel.removed",
    ),
    "agents.Agent delete": (
        lambda alice: factories.make_agent().pk, post("agents_agent_delete", {"post": "yes"}), "agent.removed",
    ),
    "schedules.Schedule delete": (
        lambda alice: factories.make_schedule(owner=alice).pk, post("schedules_schedule_delete", {"post": "yes"}),
        "schedule.removed",
    ),
}  # fmt: skip


def _add_model(client: Client) -> Any:
    data = {"provider": factories.make_provider().pk, "name": "large", "enabled": "on"}
    return client.post(reverse("admin:agents_chatmodel_add"), data)


def _save_agent(client: Client, change: bool) -> Any:
    data = {**_AGENT, "model": factories.make_model().pk}
    page = reverse("admin:agents_agent_add")
    if change:
        agent = factories.make_agent(instructions="Be long.")
        page = reverse("admin:agents_agent_change", args=[agent.pk])
    return client.post(page, data)


def _grant(client: Client, alice: Any) -> Any:
    return client.post(
        reverse("admin:accounts_creditentry_add"), {"owner": alice, "amount": "5.00", "reason": "For Alice"}
    )


CASES |= {
    "accounts.CreditEntry add": (lambda alice: alice.pk, _grant, "credit.granted"),
    "agents.ChatModel add": (None, lambda client, row: _add_model(client), "chatmodel.added"),
    "agents.Agent add": (None, lambda client, row: _save_agent(client, False), "agent.added"),
    "agents.Agent change": (None, lambda client, row: _save_agent(client, True), "agent.changed"),
}


def writable_pages(olivia: Any) -> set[str]:
    """Return every page on which an operator with all rights may add, change or delete."""
    request = RequestFactory().get("/")
    request.user = olivia
    found = set()
    for model, page in admin.site._registry.items():
        if model._meta.app_label == "django_q":
            continue
        for verb in ("add", "change", "delete"):
            may = getattr(page, f"has_{verb}_permission")(request)
            if may and not (verb == "change" and isinstance(page, ReadOnlyAdmin)):
                found.add(f"{model._meta.label} {verb}")
    return found


def test_every_page_that_changes_anything_has_a_case(olivia: Any):
    assert writable_pages(olivia) == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_page_leaves_one_entry_and_nothing_in_djangos_own_log(
    case: str, operator_client: Client, olivia: Any, alice: Any
):
    make, act, word = CASES[case]
    row = make(alice) if make else None
    last = AuditEntry.objects.order_by("pk").last()
    answer = act(operator_client, row)
    assert answer.status_code == 302, answer.context and answer.context["adminform"].form.errors
    entries = AuditEntry.objects.filter(pk__gt=last.pk if last else 0, source="admin", who=person_key(olivia))
    assert list(entries.values_list("act", flat=True)) == [word]
    assert entries.get().request_id == answer["X-Request-ID"]
    kept = str(list(entries.values()))
    texts = ("correct horse", "carol@", "secret", "Be brief", "Be long", "word@", "key=word", alice.email, "Alice")
    assert not any(text in kept for text in texts), kept
    assert not LogEntry.objects.exists()


COMMANDS: dict[str, tuple[list[str], str]] = {
    "set_limits": (["max_schedules=3"], "limitset.added"),
    "global_stop": (["on", "--reason", "Work"], "globalstop.changed"),
    "create_user": (["carol@example.com", "--password-stdin"], "user.added"),
    "create_token": (["alice@example.com", "--scope", "runs:read"], "apitoken.added"),
    "delete_user": (["alice@example.com", "--yes"], "deletion.requested"),
    "add_provider": (["demo", "Demo", "--model", "demo", "--agent", "Helper"], "modelprovider.added"),
}
NO_ACT = {
    "setup_link": "prints the link that makes the first operator, whose making is noted",
    "worker": "runs what was asked for", "doctor": "reads", "docs": "writes documentation", "prepare": "migrates",
}  # fmt: skip
OURS = ("accounts", "projects", "agents", "chats", "schedules", "config")


def test_every_command_has_a_case():
    ours = {name for name, app in get_commands().items() if app in OURS}
    assert ours == COMMANDS.keys() | NO_ACT.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_leaves_an_entry(command: str, alice: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))
    arguments, word = COMMANDS[command]
    call_command(command, *arguments, stdout=io.StringIO(), stderr=io.StringIO())
    entries = AuditEntry.objects.filter(source="command")
    assert word in set(entries.values_list("act", flat=True))
    assert set(entries.values_list("who", flat=True)) == {""}


def test_what_the_service_refuses_leaves_no_entry(operator_client: Client, olivia: Any):
    before = AuditEntry.objects.count()
    page = reverse("admin:accounts_user_change", args=[olivia.pk])
    assert operator_client.post(page, {**_USER, "is_staff": "on", "is_superuser": "on"}).status_code == 200
    assert AuditEntry.objects.count() == before


def test_the_log_is_read_searched_and_never_written(operator_client: Client, olivia: Any, alice: Any):
    schedule = factories.make_schedule(owner=alice)
    entry = audit(act="schedule.paused", actor=olivia, subject=schedule, before={"a": 1}, after={"a": 2}, now=NOW)
    listing = reverse("admin:accounts_auditentry_changelist")
    for word in (schedule.public_id, "alice@example.com", "schedule.paused", entry.public_id, person_key(alice)):
        shown = operator_client.get(listing, {"q": word, "kind": "schedule", "source": "system"}).content.decode()
        assert "schedule.paused" in shown and "a: 1 → 2" in shown and schedule.public_id in shown
    assert "schedule.paused" not in operator_client.get(listing, {"q": "bob@example.com"}).content.decode()
    page = reverse("admin:accounts_auditentry_change", args=[entry.pk])
    assert operator_client.get(page).status_code == 200
    for path in (page, reverse("admin:accounts_auditentry_delete", args=[entry.pk]), page.replace("change", "history")):
        operator_client.post(path, {"post": "yes", "act": "nothing"})
    assert operator_client.get(reverse("admin:accounts_auditentry_delete", args=[entry.pk])).status_code == 403
    assert AuditEntry.objects.get(pk=entry.pk).act == "schedule.paused"


def test_the_history_of_a_row_is_what_the_log_knows(operator_client: Client, alice: Any):
    schedule = factories.make_schedule(owner=alice)
    answer = operator_client.get(reverse("admin:schedules_schedule_history", args=[schedule.pk]))
    assert answer.status_code == 302
    assert answer["Location"].endswith(f"?kind=schedule&q={schedule.public_id}")
