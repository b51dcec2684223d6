"""A credit through the real steps of the engine: charges, skips in a row, the block (R12, R13)."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounts.models import CreditEntry, Notice, User
from accounts.services.spend import credit_grant
from chats.selectors.spend import purses
from schedules.services.reconcile import reconcile
from schedules.services.switching import schedule_delete, schedule_resume
from tests.support.engine import (
    HOUR,
    NOW,
    begin,
    fire,
)  # fmt: skip
from tests.support.spending import budgeted, hours, reasons

pytestmark = pytest.mark.django_db


class TestCredit:
    def grant(self, user: User, amount: str = "1.00") -> None:
        credit_grant(user=user, amount=Decimal(amount), reason="A start", now=NOW)

    def test_without_a_grant_nobody_is_bound(self, alice):
        schedule = budgeted(alice, None)
        hours(1)
        assert reasons(schedule) == [("succeeded", "")]
        assert not CreditEntry.objects.exists()

    def test_each_attempt_is_charged_once_and_the_balance_is_the_sum(self, alice):
        self.grant(alice)
        budgeted(alice, None)
        hours(2)
        assert [entry.amount for entry in CreditEntry.objects.order_by("pk")] == [1, Decimal("-0.30"), Decimal("-0.30")]
        assert purses({alice.pk: "UTC"}, now=NOW)[alice.pk].credit == Decimal("0.40")

    def test_five_runs_without_credit_block_and_a_grant_with_a_switch_on_mends_it(self, alice):
        """R12, R13: `skipped: balance` in a row block with `insufficient_balance`; the next run that reaches a model resets."""
        self.grant(alice, "0.40")
        schedule = budgeted(alice, None)
        hours(6)
        schedule.refresh_from_db()
        assert reasons(schedule) == [("succeeded", "")] + [("skipped", "balance")] * 5
        assert (schedule.blocked_reason, schedule.blocked_params["count"]) == ("insufficient_balance", 5)
        assert Notice.objects.get().code == "schedule_blocked"
        self.grant(alice)

        schedule_resume(schedule=schedule, now=NOW + 6 * HOUR)
        hours(1, start=NOW + 7 * HOUR)
        schedule.refresh_from_db()
        assert (reasons(schedule)[-1], schedule.balance_skip_streak) == (("succeeded", ""), 0)

    def test_it_is_counted_in_a_row_and_a_run_that_reached_a_model_resets_it(self, alice):
        self.grant(alice, "0.40")
        schedule = budgeted(alice, None)
        hours(4)
        schedule.refresh_from_db()
        assert schedule.balance_skip_streak == 3
        self.grant(alice)
        hours(1, start=NOW + 4 * HOUR)
        schedule.refresh_from_db()
        assert schedule.balance_skip_streak == 0

    def test_a_credit_that_ran_out_between_fire_and_start_counts_too(self, alice):
        self.grant(alice, "0.40")
        schedule = budgeted(alice, None)
        hours(1)
        fire_at = NOW + HOUR
        credit_grant(user=alice, amount=Decimal("1.00"), reason="More", now=NOW)
        fire(fire_at)
        credit_grant(user=alice, amount=Decimal("-1.00"), reason="Taken back", now=NOW)
        assert begin(fire_at) == []
        schedule.refresh_from_db()
        assert (reasons(schedule)[-1], schedule.balance_skip_streak) == (("skipped", "balance"), 1)

    def test_deleting_the_schedule_keeps_the_charges(self, alice):
        self.grant(alice)
        schedule = budgeted(alice, None)
        hours(1)
        schedule_delete(schedule=schedule, now=NOW + HOUR)
        reconcile(now=NOW + HOUR + timedelta(minutes=1))
        assert purses({alice.pk: "UTC"}, now=NOW)[alice.pk].credit == Decimal("0.70")
