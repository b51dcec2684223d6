"""What operators do to schedules and runs from the admin: the same services as everywhere, by POST alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Notice
from accounts.services.stops import global_stop_set
from chats.models import TurnAttempt
from core.errors import Refusal
from schedules.admin import story
from schedules.models import Run, Schedule
from schedules.services.operating import schedule_block, schedule_release
from schedules.services.switching import schedule_resume

HOUR = timedelta(hours=1)


@pytest.fixture
def operator_client(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def act(client: Client, row: Any, name: str, **more: Any) -> Any:
    model = f"{row._meta.app_label}_{row._meta.model_name}"
    return client.post(reverse(f"admin:{model}_act", args=[row.pk, name]), **more)


def words(answer: Any) -> str:
    return " ".join(str(message) for message in answer.context["messages"])


def test_a_blocked_schedule_is_off_until_an_operator_lets_it_go(
    alice: Any, olivia: Any, make_schedule: Any, now: Any
) -> None:
    """R13, R14: `by_operator` is lifted by operators only; the owner is told once."""
    schedule = make_schedule(owner=alice, armed=True)
    assert schedule_block(schedule=schedule, actor=olivia, now=now)
    assert not schedule_block(schedule=schedule, actor=olivia, now=now + HOUR)
    schedule.refresh_from_db()
    assert (schedule.blocked_reason, schedule.next_run_at) == ("by_operator", None)
    assert Notice.objects.get(user=alice).params["why"] == "An operator blocked it."
    with pytest.raises(Refusal, match="An operator blocked it"):
        schedule_resume(schedule=schedule, now=now)
    assert schedule_release(schedule=schedule, actor=olivia, now=now)
    assert not schedule_release(schedule=schedule, actor=olivia, now=now)
    schedule.refresh_from_db()
    assert schedule.is_on
    assert schedule.next_run_at > now


def test_a_block_ledgers_what_was_due_and_makes_up_for_nothing(
    alice: Any, olivia: Any, make_schedule: Any, now: Any
) -> None:
    """C12: what was due gets its row before the block, and the release goes on from now."""
    schedule = make_schedule(owner=alice, armed=True)
    due = schedule.next_run_at
    late = due + timedelta(minutes=1)
    schedule_block(schedule=schedule, actor=olivia, now=late)
    row = Run.objects.get(schedule=schedule)
    assert (row.scheduled_for, row.status, row.reason) == (due, "cancelled", "blocked")
    days_later = late + timedelta(days=3)
    schedule_release(schedule=schedule, actor=olivia, now=days_later)
    schedule.refresh_from_db()
    assert schedule.planned_through == days_later
    assert Run.objects.filter(schedule=schedule).count() == 1


def test_a_block_for_another_reason_becomes_the_operators(
    alice: Any, olivia: Any, make_schedule: Any, now: Any
) -> None:
    schedule = make_schedule(owner=alice, blocked_reason="too_many_failures", blocked_at=now)
    schedule_block(schedule=schedule, actor=olivia, now=now)
    schedule.refresh_from_db()
    assert schedule.blocked_reason == "by_operator"


def test_releasing_what_its_owner_paused_leaves_it_paused(
    alice: Any, olivia: Any, make_schedule: Any, now: Any
) -> None:
    schedule = make_schedule(owner=alice, enabled=False, paused_at=now, blocked_reason="by_operator", blocked_at=now)
    schedule_release(schedule=schedule, actor=olivia, now=now)
    schedule.refresh_from_db()
    assert (schedule.blocked_reason, schedule.enabled, schedule.next_run_at) == ("", False, None)


def test_a_release_that_the_gate_refuses_keeps_the_block(
    alice: Any, olivia: Any, make_schedule: Any, make_agent: Any, now: Any
) -> None:
    """R14, R18."""
    schedule = make_schedule(owner=alice, agent=make_agent(enabled=False), blocked_reason="by_operator", blocked_at=now)
    with pytest.raises(Refusal) as refused:
        schedule_release(schedule=schedule, actor=olivia, now=now)
    assert refused.value.code == "agent_disabled"
    schedule.refresh_from_db()
    assert schedule.blocked_reason == "by_operator"


def test_a_selection_is_blocked_paused_and_resumed(alice: Any, make_schedule: Any, operator_client: Client) -> None:
    rows = [make_schedule(owner=alice, armed=True) for _ in range(3)]
    chosen = [row.pk for row in rows[:2]]
    listing = reverse("admin:schedules_schedule_changelist")
    for name, on, said in (("pause", 1, "Paused: 2."), ("resume", 3, "Resumed: 2."), ("block", 1, "Blocked: 2.")):
        data = {"action": name, "_selected_action": chosen, "index": 0}
        answer = operator_client.post(listing, data, follow=True)
        assert said in words(answer)
        assert Schedule.objects.filter(next_run_at__isnull=False).count() == on
    noted = AuditEntry.objects.filter(kind="schedule").order_by("pk").values_list("act", "before", "after")
    assert [act for act, _, _ in noted] == 2 * ["schedule.paused"] + 2 * ["schedule.resumed"] + 2 * ["schedule.blocked"]
    assert noted[0][1:] == ({"enabled": True}, {"enabled": False})
    assert noted[4][1:] == ({"blocked_reason": ""}, {"blocked_reason": "by_operator"})


def test_run_now_starts_a_run_and_says_why_not_otherwise(
    alice: Any, olivia: Any, make_schedule: Any, operator_client: Client, now: Any
) -> None:
    """R7; gate row 1 for a run by hand."""
    schedule = make_schedule(owner=alice)
    act(operator_client, schedule, "run_it")
    run = Run.objects.get(schedule=schedule)
    assert (run.kind, run.status) == ("manual", "queued")
    assert "not finished yet" in words(act(operator_client, schedule, "run_it", follow=True))
    global_stop_set(on=True, reason="moving house", actor=olivia, now=now)
    assert "moving house" in words(act(operator_client, make_schedule(owner=alice), "run_it", follow=True))
    assert Run.objects.count() == 1


def test_a_run_is_stopped_by_staff(alice: Any, make_schedule: Any, operator_client: Client) -> None:
    schedule = make_schedule(owner=alice)
    act(operator_client, schedule, "run_it")
    run = Run.objects.get()
    act(operator_client, run, "stop")
    run.refresh_from_db()
    assert (run.status, run.reason) == ("stopped", "stopped_by_staff")
    assert "Stopped: 0." in words(act(operator_client, run, "stop", follow=True))


def test_a_queued_run_is_hinted_again(
    alice: Any, make_schedule: Any, make_run: Any, operator_client: Client, monkeypatch: Any, now: Any
) -> None:
    hints: list[int] = []
    monkeypatch.setattr("schedules.admin.runs.hint_drain", lambda: hints.append(1) or True)
    settled = make_run(schedule=make_schedule(owner=alice), scheduled_for=now - HOUR)
    act(operator_client, settled, "hint")
    assert not hints
    act(operator_client, make_run(schedule=settled.schedule, status="queued", scheduled_for=now), "hint")
    assert hints == [1]


def test_acts_need_a_post_a_token_and_the_right(alice: Any, olivia: Any, make_user: Any, make_schedule: Any) -> None:
    """quality.md, CSRF: state changes need a token."""
    schedule = make_schedule(owner=alice, armed=True)
    address = reverse("admin:schedules_schedule_act", args=[schedule.pk, "pause"])
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(olivia)
    assert strict.get(address).status_code == 405
    assert strict.post(address).status_code == 403
    looks = make_user(is_staff=True)
    looks.user_permissions.add(Permission.objects.get(content_type__app_label="schedules", codename="view_schedule"))
    looker = Client()
    looker.force_login(looks)
    assert looker.get(reverse("admin:schedules_schedule_change", args=[schedule.pk])).status_code == 200
    assert looker.post(address).status_code == 403
    assert looker.post(address.replace("pause", "delete_selected")).status_code == 403
    schedule.refresh_from_db()
    assert schedule.enabled


def test_deleting_a_schedule_goes_through_the_service(
    alice: Any, make_schedule: Any, make_run: Any, operator_client: Client
) -> None:
    """R19: with a run still active it is hidden first and erased when that has ended."""
    idle, busy = make_schedule(owner=alice), make_schedule(owner=alice)
    act(operator_client, busy, "run_it")
    busy_run = Run.objects.get(schedule=busy)
    for row in (idle, busy):
        page = reverse("admin:schedules_schedule_delete", args=[row.pk])
        assert "conversations stay" in operator_client.get(page).content.decode()
        assert operator_client.post(page, {"post": "yes"}).status_code == 302
    assert not Schedule.objects.filter(pk=idle.pk).exists()
    assert not Run.objects.filter(pk=busy_run.pk, settled_at=None).exists()


def test_a_run_page_answers_why_it_did_not_run(
    alice: Any, make_schedule: Any, make_run: Any, make_turn: Any, make_conversation: Any, operator_client: Client,
    now: Any,
) -> None:  # fmt: skip
    """interfaces.md, Admin: reason, attempts, events, links to schedule, conversation and turn."""
    schedule = make_schedule(owner=alice)
    talk = make_conversation(owner=alice)
    turn = make_turn(owner=alice, conversation=talk, status="failed", settled_at=now + HOUR, started_at=now)
    TurnAttempt.objects.create(
        turn=turn, number=1, fence=1, started_at=now, dispatched_at=now, ended_at=now + HOUR,
        error_code="provider_timeout", error_text="no first token within 60 s",
    )  # fmt: skip
    run = make_run(
        schedule=schedule, turn=turn, conversation=talk, status="failed", reason="provider_timeout", started_at=now,
        settled_at=now + HOUR,
    )  # fmt: skip
    text = operator_client.get(reverse("admin:schedules_run_change", args=[run.pk])).content.decode()
    for said in (
        "The provider did not answer in time.",
        "Try 1: the request left.",
        "no first token within 60 s",
        reverse("admin:schedules_schedule_change", args=[schedule.pk]),
        reverse("admin:chats_conversation_change", args=[talk.pk]),
        reverse("admin:chats_turn_change", args=[turn.pk]),
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"status": "refused", "reason": "project_required"}, "Every schedule needs a project now."),
        ({"status": "skipped", "reason": "overlap"}, "The run before was still busy."),
        ({"status": "missed", "reason": "misfire"}, "The server noticed it too late."),
        ({"status": "succeeded"}, "Succeeded."),
        ({"status": "queued"}, "no turn"),
    ],
)
def test_each_outcome_has_its_sentence(
    columns: dict[str, Any], said: str, alice: Any, make_schedule: Any, make_run: Any, now: Any
) -> None:
    run = make_run(schedule=make_schedule(owner=alice), **columns)
    assert said in story.why(run, now=now)


def test_a_queued_run_says_what_it_waits_for(
    alice: Any, olivia: Any, make_schedule: Any, make_run: Any, make_turn: Any, now: Any
) -> None:
    schedule = make_schedule(owner=alice)
    waiting = make_run(schedule=schedule, status="queued", turn=make_turn(owner=alice, now=now))
    assert "free slot" in story.why(waiting, now=now + HOUR)
    again = make_turn(owner=alice, not_before=now + HOUR, attempts_made=2, error_code="provider_overloaded")
    retried = make_run(schedule=schedule, status="queued", turn=again, scheduled_for=now - HOUR)
    assert story.why(retried, now=now) == "Tries again at 09:00:00 UTC after 2 tries. The provider is overloaded."
    with transaction.atomic():
        global_stop_set(on=True, reason="upgrade", actor=olivia, now=now)
    assert "upgrade" in story.why(waiting, now=now)
