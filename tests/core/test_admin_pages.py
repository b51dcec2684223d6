"""Every list and page of the admin: who gets in, what it costs, what it never shows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import (
    ApiToken,
    AuditEntry,
    CreditEntry,
    DeletionRequest,
    GlobalStop,
    LimitSet,
    Notice,
    UsageEntry,
)  # fmt: skip
from accounts.services.tokens import token_create
from agents.services.catalogue import provider_save
from chats.models import Message, TurnAttempt, WorkerHost
from projects.models import ProjectPolicy
from schedules.models import Run, Schedule

OURS = [model for model in admin.site._registry if model._meta.app_label != "django_q"]
QUEUE = [model for model in admin.site._registry if model._meta.app_label == "django_q"]
SECRET = "topsecretkeyofaprovider"
SAID = "The words that Alice alone may read."


def name(model: Any) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"


def listing(model: Any) -> str:
    return reverse(f"admin:{name(model)}_changelist")


def change_page(model: Any) -> str:
    """Return the page of the newest row; tokens are addressed by their public id."""
    row = model._default_manager.order_by("pk").last()
    return reverse(f"admin:{name(model)}_change", args=[row.public_id if model is ApiToken else row.pk])


@pytest.fixture
def world(
    alice: Any, now: Any, make_agent: Any, make_project: Any, make_conversation: Any, make_turn: Any,
    make_schedule: Any, make_run: Any,
) -> dict[str, Any]:  # fmt: skip
    """Rows of every kind, twelve of those that lists show."""
    agent = make_agent(owner=alice, instructions="Be brief.")
    agent.model.provider = provider_save(provider=agent.model.provider, values={}, key=SECRET, now=now)
    project = make_project(owner=alice)
    secret = token_create(user=alice, name="script", scopes=["runs:read"], now=now)[1]
    LimitSet.objects.create(updated_at=now, scope="deployment", max_schedules=7)
    GlobalStop.objects.get_or_create(pk=1)
    ProjectPolicy.objects.create(updated_at=now, scope="deployment", require_project=False)
    DeletionRequest.objects.create(user=alice, requested_at=now, not_before=now, ended_at=now, state="cancelled")
    WorkerHost.objects.create(name="one", hostname="one", started_at=now, clock_at=now)
    for number in range(12):
        talk = make_conversation(owner=alice, project=project, agent=agent)
        turn = make_turn(owner=alice, agent=agent, conversation=talk, status="completed", settled_at=now)
        Message.objects.create(conversation=talk, turn=turn, sequence=1, role="user", text=SAID, created_at=now)
        TurnAttempt.objects.create(turn=turn, number=1, fence=1, started_at=now, dispatched_at=now, ended_at=now)
        schedule = make_schedule(owner=alice, agent=agent, project=project, prompt=SAID, armed=True)
        run = make_run(schedule=schedule, turn=turn, conversation=talk, prompt=SAID, started_at=now)
        schedule.last_run = run
        schedule.save(update_fields=["last_run"])
        CreditEntry.objects.create(owner=alice, key=str(number), kind="grant", amount=5, created_at=now)
        UsageEntry.objects.create(owner=alice, day=now.date(), key=str(number), kind="schedule", created_at=now)
        Notice.objects.create(
            user=alice,
            code="schedule_blocked",
            params={"name": "x", "why": "y"},
            dedupe_key=str(number),
            created_at=now,
        )
    return {"agent": agent, "schedule": schedule, "run": run, "conversation": talk, "turn": turn, "secret": secret}


@pytest.fixture
def operator_client(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def test_lists_take_at_most_ten_queries_and_count_nothing(world: Any, operator_client: Client) -> None:
    """quality.md, admin: <= 10 queries, no count(*)."""
    for model in OURS:
        with CaptureQueriesContext(connection) as asked:
            answer = operator_client.get(listing(model))
        assert answer.status_code in (200, 302), name(model)
        texts = [query["sql"] for query in asked.captured_queries]
        assert len(texts) <= 10, "\n".join([name(model), *texts])
        assert not [text for text in texts if "COUNT(" in text.upper()], "\n".join([name(model), *texts])


def test_every_page_opens(world: Any, operator_client: Client) -> None:
    for model, pages in admin.site._registry.items():
        if model in QUEUE:
            continue
        answer = operator_client.get(change_page(model))
        assert answer.status_code == 200, name(model)
        if pages.has_add_permission(answer.wsgi_request):
            assert operator_client.get(reverse(f"admin:{name(model)}_add")).status_code == 200, name(model)


def test_no_page_shows_a_key_a_token_or_its_digest(world: Any, operator_client: Client) -> None:
    """quality.md, secrets: never in admin."""
    token = ApiToken.objects.get()
    sealed = world["agent"].model.provider.key_encrypted
    hidden = [SECRET, world["secret"], token.digest, token.token_key, sealed]
    assert all(hidden)
    for model in OURS:
        for page in (listing(model), change_page(model)):
            text = operator_client.get(page, follow=True).content.decode()
            assert not [secret for secret in hidden if secret in text], page


def test_what_people_wrote_is_shown_only_to_operators_who_may_read_it(
    world: Any, client: Client, make_user: Any
) -> None:
    """interfaces.md, Admin: content hidden unless the operator has the permission; access is logged."""
    looks = make_user(is_staff=True)
    looks.user_permissions.set(
        Permission.objects.filter(codename__startswith="view_").exclude(codename="view_message_text")
    )
    client.force_login(looks)
    for kind in ("schedule", "run", "conversation"):
        page = change_page(type(world[kind]))
        answer = client.get(page)
        assert answer.status_code == 200
        assert SAID not in answer.content.decode(), page
    assert not AuditEntry.objects.filter(act__endswith=".read").exists()
    looks.user_permissions.add(Permission.objects.get(codename="view_message_text"))
    for kind in ("schedule", "run", "conversation"):
        assert SAID in client.get(change_page(type(world[kind]))).content.decode()
    read = AuditEntry.objects.filter(who=looks.person_key.key, act__endswith=".read").order_by("pk")
    assert list(read.values_list("act", flat=True)) == ["schedule.read", "run.read", "conversation.read"]
    assert SAID not in str(list(read.values()))


def test_strangers_sign_in_first_and_members_are_refused(client: Client, alice: Any) -> None:
    index = reverse("admin:index")
    for address in (index, listing(Schedule), reverse("admin:login")):
        answer = client.get(address)
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith(reverse("account_login"))
    client.force_login(alice)
    for address in (index, listing(Schedule), reverse("admin:login"), f"{listing(Schedule)}1/act/pause/"):
        assert client.get(address).status_code == 403, address
        assert client.post(address).status_code == 403, address


def test_pages_of_the_queue_are_for_superusers(client: Client, make_user: Any, olivia: Any) -> None:
    """interfaces.md: django-q2's own pages are hidden from non-superusers."""
    assert QUEUE
    looks = make_user(is_staff=True)
    looks.user_permissions.set(Permission.objects.all())
    client.force_login(looks)
    for model in QUEUE:
        assert client.get(listing(model)).status_code == 403
    client.force_login(olivia)
    for model in QUEUE:
        assert client.get(listing(model)).status_code == 200


def test_tables_of_packages_are_left_out() -> None:
    labels = {model._meta.app_label for model in admin.site._registry}
    assert labels == {"auth", "accounts", "projects", "agents", "chats", "schedules", "django_q"}


def test_the_policy_of_every_page_allows_nothing_inline(world: Any, operator_client: Client) -> None:
    """quality.md: strict CSP without `unsafe-*`, so the pages hold no inline script, style or handler."""
    inline = re.compile(r"<style|<script(?![^>]*\ssrc=)[^>]*>|\sstyle=|\son[a-z]+=", re.IGNORECASE)
    for page in (reverse("admin:index"), *map(listing, OURS), *map(change_page, OURS)):
        answer = operator_client.get(page, follow=True)
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        found = inline.search(answer.content.decode())
        assert found is None, (page, answer.content.decode()[found.start() - 200 : found.end() + 100])


def test_search_finds_by_id_by_owner_and_by_words(world: Any, operator_client: Client) -> None:
    schedule = world["schedule"]
    found = {
        schedule.public_id: 1,
        "alice@example.com": 12,
        "ALICE@example.com": 12,
        "bob@example.com": 0,
        f"alice@example.com {schedule.name}": 1,
        schedule.name: 1,
        world["run"].public_id: 1,
    }
    for text, number in found.items():
        answer = operator_client.get(listing(Schedule), {"q": text})
        assert len(answer.context["cl"].result_list) == number, text


def test_pages_of_a_list_end_where_the_rows_end(world: Any, operator_client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(admin.site._registry[Run], "list_per_page", 6)
    for page, rows, further in ((1, 6, True), (2, 6, False), (3, 0, False)):
        shown = operator_client.get(listing(Run), {"p": page}).context["cl"]
        assert (len(shown.result_list), shown.has_next) == (rows, further)


def test_names_are_text_wherever_they_stand(
    alice: Any, make_schedule: Any, make_run: Any, make_conversation: Any, operator_client: Client
) -> None:
    """quality.md, text: names and prompts are escaped on every page."""
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 }}"
    schedule = make_schedule(owner=alice, name=hostile, prompt=hostile)
    talk = make_conversation(owner=alice, title=hostile)
    Message.objects.create(conversation=talk, sequence=1, role="user", text=hostile, created_at=talk.created_at)
    run = make_run(schedule=schedule, conversation=talk, status="failed", reason="internal", error_text=hostile)
    pages = [page for row in (schedule, talk, run) for page in (listing(type(row)), change_page(type(row)))]
    pages.append(reverse("admin:schedules_schedule_delete", args=[schedule.pk]))
    for page in pages:
        text = operator_client.get(page).content.decode()
        assert "<script>alert" not in text, page
        assert "<img src=x" not in text, page
        assert "&lt;script&gt;alert" in text, page
