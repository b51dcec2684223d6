"""An account's deletion before it commits: an overlay that stops everything and changes nothing (A1 to A4, A8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection

from accounts.models import AuditEntry, DeletionRequest, Notice
from accounts.selectors import deletions
from accounts.selectors.deletions import deleting, refuse_deleting
from accounts.services.deletion import deletion_cancel, deletion_hasten, deletion_request
from accounts.services.erasing import deletions_sweep
from accounts.services.users import profile_edit
from chats.models import Turn
from chats.selectors.health import drains_needed
from chats.services.turns_claim import turns_waiting
from core.errors import Refusal
from core.registry import register_account_work
from schedules.models import Run, Schedule
from schedules.services.editing import schedule_create, schedule_edit
from schedules.services.firing import due_left
from schedules.services.reconcile import reconcile
from schedules.services.switching import schedule_delete, schedule_pause
from tests import factories
from tests.support.engine import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    begin,
    claim,
    due_schedule,
    ended,
    failed,
    fire,
    ledger,
    queued_run,
    row,
    settle,
)  # fmt: skip
from tests.support.leaving import everything_of, rows

LATER = NOW + HOUR


def ask(user: Any, now: Any = NOW, **more: Any) -> DeletionRequest:
    return deletion_request(user=user, actor=user, now=now, **more)


def test_a_request_waits_for_its_grace_and_a_second_one_adopts_it(alice: Any, settings: Any):
    """A3"""
    settings.DELETION_GRACE_DAYS = 3
    first, second = ask(alice), ask(alice, LATER, keep_usage=True)
    assert (first.pk, second.keep_usage) == (second.pk, True)
    assert (second.state, second.requested_at, second.not_before) == ("requested", NOW, NOW + 3 * DAY)


def test_a_request_after_a_cancelled_one_starts_anew(alice: Any):
    """A3"""
    first = ask(alice)
    deletion_cancel(user=alice, actor=alice, now=LATER)
    second = ask(alice, LATER)
    assert first.pk != second.pk
    assert list(DeletionRequest.objects.order_by("pk").values_list("state", flat=True)) == ["cancelled", "requested"]


def test_nothing_fires_while_it_is_open_and_the_mark_stays_due(alice: Any, bob: Any):
    """A1, gate row 2: others fire as ever, and nobody is kept looking at what waits."""
    waits, fires = due_schedule(alice), due_schedule(bob)
    ask(alice)
    before = row(waits)
    assert fire(LATER) == 1
    assert (ledger(waits), row(waits)) == ([], before)
    assert len(ledger(fires)) >= 1
    assert not due_left(now=LATER)


def test_a_queued_run_stays_queued_and_uses_up_no_attempt(alice: Any):
    """A4: no drain is woken for it, and one that had leased it this instant gives it back."""
    run = queued_run(alice)
    leased = claim()
    ask(alice)
    assert begin_leased(leased) == []
    turn = Turn.objects.get(pk=run.turn_id)
    assert (turn.status, turn.attempts_made, turn.stop_requested_at) == ("queued", 0, None)
    assert Run.objects.get(pk=run.pk).status == "queued"
    soon = NOW + MINUTE
    assert claim(soon) == []
    assert not turns_waiting(now=soon)
    assert not drains_needed(soon, older_than=0)


def begin_leased(leased: list[Turn]) -> list[Any]:
    from chats.services.turns_start import turns_start

    return turns_start(turns=leased, now=NOW)


def test_what_a_person_began_does_not_start_either(alice: Any):
    """Gate row 2 binds every origin, other than the global stop."""
    conversation = factories.make_conversation(owner=alice)
    factories.make_turn(owner=alice, conversation=conversation, lane="interactive")
    ask(alice)
    assert claim() == []


def test_a_running_turn_is_stopped_and_a_retry_wait_goes_on_waiting(alice: Any):
    queued_run(alice)
    queued_run(alice)
    running, retried = begin()
    settle(failed(retried))
    ask(alice, NOW + SECOND)
    settle(ended(running, "stopped", "Good mo", code="account_deleting"), now=NOW + SECOND)
    assert Run.objects.get(turn=running.turn).status == "stopped"
    assert Run.objects.get(turn=running.turn).reason == "account_deleting"
    assert row(retried.turn)["status"] == "queued"
    assert row(retried.turn)["stop_requested_at"] is None


def test_cancelling_restores_every_row(alice: Any, bob: Any, olivia: Any):
    """A2, also after a second request, a hasty one, a look of the sweep, and an operator's edit of something else."""
    user = everything_of("carol@example.com", operator=olivia)
    due_schedule(user)
    before = rows()
    ask(user)
    ask(user, NOW + SECOND)
    fire(LATER)
    reconcile(now=LATER)
    deletion_hasten(user=user, actor=olivia, now=LATER)
    deletion_cancel(user=user, actor=user, now=LATER)
    assert rows() == before


def test_a_schedule_deleted_meanwhile_stays_deleted_and_another_edit_stays(alice: Any, olivia: Any):
    """A2"""
    gone, paused = factories.make_schedule(owner=alice, armed=True), factories.make_schedule(owner=alice, armed=True)
    ask(alice)
    assert schedule_delete(schedule=gone, now=NOW)
    schedule_pause(schedule=paused, now=NOW)
    schedule_edit(schedule=paused, body={"enabled": False}, now=NOW)
    profile_edit(user=alice, values={"clock": "12"}, actor=olivia, now=NOW)
    deletion_cancel(user=alice, actor=alice, now=LATER)
    assert list(Schedule.objects.values_list("pk", "enabled")) == [(paused.pk, False)]
    alice.refresh_from_db()
    assert alice.clock == "12"


def test_the_misfire_policy_decides_about_what_fell_due_meanwhile(alice: Any):
    """R38: three occurrences pass; each has its row afterwards, by the rule of its schedule."""
    misses = due_schedule(alice, at=NOW + HOUR, misfire_grace_seconds=60)
    once = due_schedule(alice, at=NOW + HOUR, misfire_policy="run_once")
    ask(alice)
    lifted = NOW + 3 * HOUR + 10 * MINUTE
    fire(lifted)
    deletion_cancel(user=alice, actor=alice, now=lifted)
    fire(lifted)
    assert [entry[:2] for entry in ledger(misses)] == [("missed", "misfire")]
    assert Run.objects.get(schedule=misses).missed_count == 3
    assert [entry[:2] for entry in ledger(once)] == [("missed", "passed_over"), ("queued", "")]


def test_lateness_is_asked_again_of_what_was_queued_meanwhile(alice: Any, bob: Any):
    """R38: within the grace it starts, beyond it it is missed; somebody else's deletion makes nobody late."""
    late = queued_run(alice, misfire_grace_seconds=60)
    patient = queued_run(alice, misfire_grace_seconds=7200)
    other = queued_run(bob, misfire_grace_seconds=60)
    ask(alice, NOW + SECOND)
    deletion_cancel(user=alice, actor=alice, now=LATER)
    begin(LATER + SECOND)
    status = dict(Run.objects.values_list("pk", "status"))
    assert (status[late.pk], status[patient.pk], status[other.pk]) == ("missed", "running", "running")
    assert Run.objects.get(pk=late.pk).reason == "misfire"


def test_an_unreadable_fence_counts_as_up(alice: Any, make_agent: Any, monkeypatch: pytest.MonkeyPatch):
    """A8: nothing starts, nothing fires, nothing is written, and nothing is lost by it."""
    body = {"name": "M", "prompt": "P", "agent": make_agent().public_id, "cadence": {"kind": "daily", "time": "09:00"}}
    run = queued_run(alice)
    leased = claim()
    schedule = due_schedule(alice, at=LATER)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_deletionrequest RENAME TO out_of_reach")
    try:
        assert deleting([alice.pk]) == {alice.pk}
        with pytest.raises(Refusal) as refused:
            schedule_create(owner=alice, body=body, now=NOW)
        assert (refused.value.code, refused.value.status, refused.value.retry_after) == (
            "account_state_unknown",
            503,
            5,
        )
        assert begin_leased(leased) == []
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE out_of_reach RENAME TO accounts_deletionrequest")
    assert (row(run)["status"], row(leased[0])["attempts_made"]) == ("queued", 0)
    assert ledger(schedule) == []

    def unreadable() -> Any:
        raise DatabaseError("no answer")

    monkeypatch.setattr(deletions, "open_deletions", unreadable)
    for look in (lambda: fire(LATER), lambda: claim(LATER)):
        with pytest.raises(DatabaseError):
            look()


def test_a_state_that_nobody_knows_counts_as_up(alice: Any):
    """A8"""
    ask(alice)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE accounts_deletionrequest DROP CONSTRAINT deletionrequest_state_known")
        else:
            cursor.execute("PRAGMA ignore_check_constraints = ON")
        cursor.execute("UPDATE accounts_deletionrequest SET state = 'whatever'")
        if connection.vendor != "postgresql":
            cursor.execute("PRAGMA ignore_check_constraints = OFF")
    with pytest.raises(Refusal, match="being deleted"):
        refuse_deleting(alice.pk)


class Broken:
    """A room that cannot suspend, or cannot say what is worked on."""

    def __init__(self, *, suspends: bool) -> None:
        self.suspends = suspends

    def suspend(self, user_id: int, *, now: Any) -> int:
        if not self.suspends:
            raise ValueError("Alices own matter")
        return 0

    def working(self, user_id: int, *, now: Any) -> int:
        raise ValueError("Alices own matter")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Any:
    from core import registry

    monkeypatch.setattr(registry, "_works", dict(registry._works))
    return lambda **how: register_account_work("broken", Broken(**how))


def test_what_fails_before_the_commit_point_is_called_off_and_told(alice: Any, olivia: Any, broken: Any):
    """Step 5: the error, without its text, which may be the person's; person and operators are told once."""
    broken(suspends=True)
    schedule = due_schedule(alice)
    before = row(schedule)
    request = ask(alice, grace=timedelta(0))
    for _ in range(3):
        deletions_sweep(now=NOW)
    assert (row(request)["state"], row(request)["error"]) == ("cancelled", "ValueError")
    assert row(schedule) == before
    told = Notice.objects.filter(code="deletion_failed")
    assert sorted(told.values_list("user__email", flat=True)) == ["alice@example.com", "olivia@example.com"]
    assert "Alice" not in str(list(told.values()))
    alice.refresh_from_db()
    assert alice.is_active
    assert ask(alice, LATER).state == "requested"


def test_what_fails_as_it_is_asked_for_was_never_in_force(alice: Any, olivia: Any, broken: Any):
    broken(suspends=False)
    with pytest.raises(ValueError, match="matter"):
        ask(alice)
    assert DeletionRequest.objects.values_list("state", "error").get() == ("cancelled", "ValueError")
    assert Notice.objects.filter(code="deletion_failed", user=olivia).exists()
    assert deleting([alice.pk]) == set()


def test_the_last_operator_is_deleted_only_when_said_twice(olivia: Any):
    """details.md; of two operators the one whose deletion is open does not count as the one who stays."""
    second = factories.make_user("bob@example.com", operator=True)
    ask(second)
    with pytest.raises(Refusal) as refused:
        ask(olivia)
    assert refused.value.code == "last_operator"
    assert ask(olivia, even_last=True).state == "requested"


def test_every_act_is_in_the_log_and_ends_where_there_is_nothing(alice: Any, olivia: Any):
    ask(alice)
    deletion_hasten(user=alice, actor=olivia, now=LATER)
    deletion_hasten(user=alice, actor=olivia, now=LATER)
    deletion_cancel(user=alice, actor=olivia, now=LATER)
    acts = AuditEntry.objects.filter(act__startswith="deletion.").order_by("pk").values_list("act", flat=True)
    assert list(acts) == ["deletion.requested", "deletion.hastened", "deletion.cancelled"]
    for act in (deletion_cancel, deletion_hasten):
        with pytest.raises(Refusal, match="Nobody asked"):
            act(user=alice, actor=olivia, now=LATER)
