"""Every button and every action on a selection of the operators' pages leaves an entry in the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from accounts.services.audit import person_key
from accounts.services.deletion import deletion_request
from agents.services import provider_add
from core.admin.acting import Acting
from tests import factories
from tests.factories import NOW

Make = Callable[[Any], Any]


@pytest.fixture
def operator_client(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def _schedule(**fields: Any) -> Make:
    return lambda owner: factories.make_schedule(owner=owner, **fields)


def _queued(owner: Any) -> Any:
    schedule = factories.make_schedule(owner=owner)
    turn = factories.make_turn(owner=owner, agent=schedule.agent, origin="schedule")
    return factories.make_run(schedule=schedule, turn=turn, status="queued")


def _settled(owner: Any) -> Any:
    schedule = factories.make_schedule(owner=owner)
    return factories.make_run(schedule=schedule, status="succeeded", settled_at=NOW)


def _demo(owner: Any) -> Any:
    return provider_add(kind="demo", name="Demo", model="demo", agent="Helper", now=NOW)


def _with_factor(owner: Any) -> Any:
    Authenticator.objects.create(user=owner, type="totp", data={"secret": "sealed"})
    return owner


def _leaving(owner: Any, grace: timedelta = timedelta(0)) -> Any:
    return deletion_request(user=owner, actor=None, grace=grace, now=NOW)


CASES: dict[str, tuple[Make, str]] = {
    "schedules.Schedule pause": (_schedule(armed=True), "schedule.paused"),
    "schedules.Schedule resume": (_schedule(enabled=False, paused_at=NOW), "schedule.resumed"),
    "schedules.Schedule block": (_schedule(armed=True), "schedule.blocked"),
    "schedules.Schedule run_it": (_schedule(armed=True), "schedule.started"),
    "schedules.Run stop": (_queued, "run.stopped"),
    "schedules.Run hint": (_queued, "run.hinted"),
    "schedules.Run again": (_settled, "run.started_again"),
    "chats.Turn stop": (lambda owner: factories.make_turn(owner=owner, origin="timer"), "turn.stopped"),
    "chats.Turn hint": (lambda owner: factories.make_turn(owner=owner, origin="timer"), "turn.hinted"),
    "projects.ChatProject archive": (lambda owner: factories.make_project(owner=owner), "chatproject.archived"),
    "projects.ChatProject bring_back": (
        lambda owner: factories.make_project(owner=owner, archived_at=NOW), "chatproject.brought_back",
    ),
    "agents.ModelProvider try_it": (lambda owner: _demo(owner)[0], "modelprovider.tried"),
    "agents.Agent try_it": (lambda owner: _demo(owner)[2], "agent.tried"),
    "accounts.DeletionRequest hasten": (lambda owner: _leaving(owner, timedelta(days=9999)), "deletion.hastened"),
    "accounts.DeletionRequest cancel": (_leaving, "deletion.cancelled"),
    "accounts.DeletionRequest retry": (_leaving, "deletion.retried"),
    "accounts.User drop_second_factor": (_with_factor, "user.second_factor"),
}  # fmt: skip


def offered() -> set[str]:
    """Return every act that pages of operators have, as a button or for a selection."""
    found = set()
    for model, page in admin.site._registry.items():
        if isinstance(page, Acting):
            names = {*(page.actions or ()), *page.object_actions}
            found |= {f"{model._meta.label} {name}" for name in names}
    return found


def test_every_act_has_a_case():
    assert offered() == set(CASES)


@pytest.mark.parametrize("by", ["button", "selection"])
@pytest.mark.parametrize("case", CASES)
def test_an_act_leaves_one_entry_with_what_it_changed(
    case: str, by: str, operator_client: Client, olivia: Any, alice: Any
):
    make, word = CASES[case]
    row = make(alice)
    act = case.partition(" ")[2]
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}"
    last = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    if by == "button":
        answer = operator_client.post(reverse(f"{name}_act", args=[row.pk, act]))
    else:
        data = {"action": act, "_selected_action": [row.pk], "index": 0}
        answer = operator_client.post(reverse(f"{name}_changelist"), data)
    assert answer.status_code == 302, answer.content
    [entry] = AuditEntry.objects.filter(pk__gt=last)
    assert (entry.act, entry.source, entry.who) == (word, "admin", person_key(olivia))
    owned = getattr(row, "owner_id", None) or getattr(row, "user_id", None) or (row.pk if row == alice else None)
    assert entry.whom == (person_key(owned) if owned else "")
    assert alice.email not in str([entry.before, entry.after])


def test_an_act_that_is_refused_leaves_no_entry(operator_client: Client, alice: Any):
    schedule = factories.make_schedule(owner=alice, agent=factories.make_agent(enabled=False), enabled=False)
    last = AuditEntry.objects.count()
    operator_client.post(reverse("admin:schedules_schedule_act", args=[schedule.pk, "resume"]))
    assert AuditEntry.objects.count() == last
