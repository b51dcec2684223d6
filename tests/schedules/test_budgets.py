"""Budgets of a month through the real steps of the engine (accounts.md, Spend)."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from accounts.models import LimitSet, Notice, UsageEntry, User
from accounts.selectors.limits import limits_for
from chats.models import Conversation, Turn
from chats.services.conversations import conversation_delete
from chats.services.turns_spend import turns_reserve
from core.errors import Refusal
from core.registry import StartPlan, StartRefused
from schedules.models import Run, Schedule
from schedules.services.again import run_again
from schedules.services.reconcile import reconcile
from schedules.services.runs import run_now
from schedules.services.switching import schedule_delete
from tests.support.engine import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    due_schedule,
)  # fmt: skip
from tests.support.spending import budgeted, hours, priced, reasons, spent

pytestmark = pytest.mark.django_db


class TestAMonthOfOneSchedule:
    def test_three_of_thirty_cents_fit_one_and_the_fourth_is_skipped(self, alice):
        """Budget 1.00: 0.90 is spent, and a fourth run would not fit."""
        schedule = budgeted(alice)
        hours(6)
        assert reasons(schedule) == [("succeeded", "")] * 3 + [("skipped", "budget")] * 3
        assert spent(alice) == Decimal("0.90")
        last = Run.objects.filter(schedule=schedule).latest("scheduled_for")
        wanted = {"most": "1.00", "of": "schedule", "month": "2026-06", "resumes": "2026-07-01"}
        assert (last.reason_params, last.turn, last.cost) == (wanted, None, None)

    def test_it_is_told_once_a_month(self, alice):
        budgeted(alice, notify={"on": "never"})
        hours(8)
        notice = Notice.objects.get()
        assert (notice.user, notice.code, notice.params["most"]) == (alice, "budget_reached", "1.00")

    def test_who_wants_to_be_told_of_everything_is_told_of_the_budget_once_too(self, alice):
        budgeted(alice, "0.30", notify={"on": "always"})
        hours(5)
        assert sorted(Notice.objects.values_list("code", flat=True)) == ["budget_reached", "run_settled"]

    def test_a_skip_changes_no_streak_and_blocks_nothing(self, alice):
        """R12: only a missing credit counts in a row."""
        schedule = budgeted(alice, "0.30")
        hours(9)
        schedule.refresh_from_db()
        assert (schedule.blocked_reason, schedule.balance_skip_streak, schedule.failure_streak) == ("", 0, 0)

    def test_deleting_the_conversations_and_the_schedule_gives_nothing_back(self, alice):
        schedule = budgeted(alice)
        hours(4)
        for conversation in Conversation.objects.filter(deleted_at=None):
            conversation_delete(conversation=conversation, now=NOW + DAY)
        schedule_delete(schedule=schedule, now=NOW + DAY)
        reconcile(now=NOW + DAY)
        assert not Schedule.objects.exists()
        assert not Run.objects.exists()
        assert (spent(alice), UsageEntry.objects.count()) == (Decimal("0.90"), 3)

    @pytest.mark.parametrize(
        ("zone", "in_the_month", "in_the_next"),
        [
            ("UTC", datetime(2026, 6, 30, 23, tzinfo=UTC), datetime(2026, 7, 1, 0, tzinfo=UTC)),
            ("Asia/Tokyo", datetime(2026, 6, 30, 14, tzinfo=UTC), datetime(2026, 6, 30, 15, tzinfo=UTC)),
            ("America/New_York", datetime(2026, 7, 1, 3, tzinfo=UTC), datetime(2026, 7, 1, 4, tzinfo=UTC)),
        ],
    )
    def test_it_runs_again_with_the_next_month_of_the_owners_zone(self, make_user, zone, in_the_month, in_the_next):
        owner = make_user("carol@example.com", zone=zone)
        schedule = budgeted(owner, "0.30")
        hours(2)
        assert reasons(schedule) == [("succeeded", ""), ("skipped", "budget")]
        Schedule.objects.update(planned_through=in_the_month - MINUTE, next_run_at=in_the_month)
        hours(1, start=in_the_month)
        hours(1, start=in_the_next)
        assert reasons(schedule)[2:] == [("skipped", "budget"), ("succeeded", "")]
        hours(1, start=in_the_next + HOUR)
        assert Notice.objects.filter(code="budget_reached").count() == 2, "once in each month"

    def test_a_higher_budget_is_used_at_once(self, alice):
        schedule = budgeted(alice, "0.30")
        hours(2)
        Schedule.objects.update(monthly_budget=Decimal("0.60"))
        hours(1, start=NOW + 2 * HOUR)
        assert reasons(schedule) == [("succeeded", ""), ("skipped", "budget"), ("succeeded", "")]


class TestTheOwnersMonth:
    def limit(self, user: User, amount: str) -> None:
        LimitSet.objects.create(scope="user", user=user, monthly_spend=Decimal(amount), updated_at=NOW)

    def test_it_holds_for_all_schedules_together(self, alice):
        agent = priced()
        self.limit(alice, "0.70")
        for _ in range(2):
            due_schedule(alice, agent=agent)
        hours(3)
        assert spent(alice) == Decimal("0.60")
        skipped = Run.objects.filter(status="skipped", reason="budget")
        assert skipped.count() == 4
        assert skipped.first().reason_params["of"] == "owner"
        assert Notice.objects.filter(code="budget_reached").count() == 1

    def test_a_schedules_budget_leaves_the_others_alone(self, alice):
        agent = priced()
        one, other = budgeted(alice, "0.30", agent=agent), due_schedule(alice, agent=agent)
        hours(2)
        assert reasons(one) == [("succeeded", ""), ("skipped", "budget")]
        assert reasons(other) == [("succeeded", "")] * 2

    def test_another_owner_is_not_bound_by_it(self, alice, bob):
        agent = priced()
        self.limit(alice, "0.00")
        mine, theirs = due_schedule(alice, agent=agent), due_schedule(bob, agent=agent)
        hours(1)
        assert (reasons(mine), reasons(theirs)) == ([("skipped", "budget")], [("succeeded", "")])

    def test_a_run_by_hand_is_refused_with_the_reason(self, alice):
        """A person gets 409 `budget`, and the row that neither counts nor blocks."""
        schedule = budgeted(alice, "0.30")
        hours(1)
        with pytest.raises(Refusal) as refused:
            run_now(schedule=schedule, actor=alice, now=NOW + 2 * MINUTE)
        assert (refused.value.code, refused.value.status) == ("budget", 409)
        assert Run.objects.get(kind="manual").reason == "budget"

    def test_running_again_what_does_not_fit_is_refused_too(self, alice):
        budgeted(alice, "0.30")
        hours(1)
        with pytest.raises(Refusal) as refused:
            run_again(run=Run.objects.get(), actor=alice, now=NOW + 2 * MINUTE)
        assert (refused.value.code, refused.value.status) == ("budget", 409)

    def test_a_persons_turn_is_bound_alike(self, alice, make_turn, make_conversation):
        """Chat, API and scheduled runs are bound alike: what others spent counts, and the model's last five."""

        agent = priced()
        self.limit(alice, "0.50")
        due_schedule(alice, agent=agent)
        hours(1)
        turn = make_turn(owner=alice, agent=agent, conversation=make_conversation(owner=alice))
        plans = {turn.pk: StartPlan("A chat", None, "Hello")}
        turn = Turn.objects.select_related("owner", "agent__model").get(pk=turn.pk)
        answer = turns_reserve(turns=[turn], plans=plans, limits=limits_for([alice.pk]), now=NOW + HOUR)[turn.pk]
        assert isinstance(answer, StartRefused)
        assert (answer.status, answer.reason) == ("cancelled", "budget")
