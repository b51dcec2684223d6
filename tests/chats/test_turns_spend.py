"""What turns reserve at their start and are billed at their end (accounts.md, Spend)."""

from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import LimitSet, Notice, UsageEntry
from agents.models import ChatModel
from chats.models import Message, Turn
from chats.services.turns_recover import leases_recover
from chats.services.turns_start import turns_dispatch, turns_start
from schedules.models import Run, Schedule
from schedules.services.runs import run_now
from tests.factories import make_agent, make_model
from tests.support.engine import (
    HOUR,
    MINUTE,
    NOW,
    begin,
    claim,
    due_schedule,
    ended,
    failed,
    fire,
    settle,
)  # fmt: skip
from tests.support.spending import CENTS_30, budgeted, hours, priced, reasons, spent

pytestmark = pytest.mark.django_db


class TestWhatIsReserved:
    def test_ten_due_at_once_never_spend_more_than_the_budget(self, alice):
        """One settled run of 0.30 is known; of ten more that start together two fit 1.00."""
        LimitSet.objects.create(scope="deployment", max_concurrent=10, updated_at=NOW)
        schedule = budgeted(alice, overlap_policy="allow")
        hours(1)
        late = NOW + 10 * MINUTE
        for number in range(10):
            run_now(schedule=schedule, actor=alice, key=str(number), now=late)
        works = begin(late)
        assert [turn.reserved for turn in Turn.objects.filter(status="running")] == [Decimal("0.300000")] * 2
        settle(*[ended(work, **CENTS_30) for work in works], now=late + MINUTE)
        assert spent(alice) == Decimal("0.90")
        assert sorted(reasons(schedule)) == [("skipped", "budget")] * 8 + [("succeeded", "")] * 3
        assert Notice.objects.filter(code="budget_reached").count() == 1

    def test_before_the_first_run_the_prompts_price_is_reserved(self, alice):
        budgeted(alice, prompt="word " * 800)  # 1,000 tokens at 3 per million
        fire()
        begin()
        assert Turn.objects.get().reserved == Decimal("0.003000")

    def test_it_is_the_dearest_of_the_last_five(self, alice):
        schedule = budgeted(alice, "100")
        for number, tokens in enumerate([900_000, 100_000, 200_000, 50_000, 100_000, 100_000]):
            hours(1, start=NOW + number * HOUR, usage={"input_tokens": tokens, "output_tokens": 0})
        fire(NOW + 6 * HOUR)
        begin(NOW + 6 * HOUR)
        assert Turn.objects.get(status="running").reserved == Decimal("0.6")
        schedule.refresh_from_db()
        assert len(schedule.recent_costs) == 5

    def test_the_first_may_cost_more_than_was_left(self, alice):
        """An estimate is one: what a run really costs is counted, and the next one is asked with it."""
        schedule = budgeted(alice, "0.10")
        hours(2)
        assert reasons(schedule) == [("succeeded", ""), ("skipped", "budget")]
        assert spent(alice) == Decimal("0.30")

    def test_settling_replaces_it_by_the_cost(self, alice):
        budgeted(alice)
        hours(1)
        assert Turn.objects.get().reserved == 0
        assert spent(alice) == Decimal("0.30")

    def test_a_lost_lease_gives_it_back_and_its_retry_reserves_anew(self, alice):
        """A crash between reserve and settle: healed, nothing stays reserved, and the month is whole."""
        schedule = budgeted(alice)
        hours(1)
        fire(NOW + HOUR)
        [work] = begin(NOW + HOUR)
        assert spent(alice) == Decimal("0.60")
        gone = NOW + HOUR + 2 * MINUTE
        assert leases_recover(now=gone) == 1
        assert (Turn.objects.get(status="queued").reserved, spent(alice)) == (0, Decimal("0.30"))
        [again] = begin(gone)
        assert Turn.objects.get(status="running").reserved == Decimal("0.30")
        assert settle(ended(work, **CENTS_30), now=gone) == set(), "the worker that wakes bills nothing (R4)"
        settle(ended(again, **CENTS_30), now=gone + MINUTE)
        assert (spent(alice), reasons(schedule)) == (Decimal("0.60"), [("succeeded", "")] * 2)

    def test_a_lease_that_called_nobody_costs_nothing(self, alice):
        budgeted(alice)
        fire()
        claim()
        assert leases_recover(now=NOW + 2 * MINUTE) == 1
        assert (spent(alice), UsageEntry.objects.count()) == (0, 0)

    def test_what_waits_for_its_provider_reserves_nothing(self, alice):
        agent = priced()
        agent.model.provider.requests_per_minute = 1
        agent.model.provider.save()
        for _ in range(3):
            due_schedule(alice, agent=agent)
        LimitSet.objects.create(scope="user", user=alice, monthly_spend=Decimal("0.01"), updated_at=NOW)
        fire()
        assert len(begin()) == 1
        assert sorted(Turn.objects.values_list("status", flat=True)) == ["queued", "queued", "running"]


class TestWhatIsBilled:
    def test_a_ledger_row_says_whose_when_what_and_how_much(self, alice):
        schedule = budgeted(alice)
        hours(1, usage={"input_tokens": 100_000, "cached_tokens": 20_000, "output_tokens": 7})
        row, turn = UsageEntry.objects.get(), Turn.objects.get()
        assert (row.owner, row.day.isoformat(), row.kind) == (alice, "2026-06-01", "schedule")
        assert (row.turn, row.schedule, row.agent, row.model) == (
            turn.public_id, schedule.public_id, schedule.agent.public_id, schedule.agent.model.public_id,
        )  # fmt: skip
        assert (row.input_tokens, row.cached_tokens, row.output_tokens) == (100_000, 20_000, 7)
        assert (row.cost, row.estimated, row.key) == (Decimal("0.300000"), False, f"{turn.public_id}:1")

    def test_each_attempt_is_billed_to_its_turn(self, alice):
        """Retries are billed to their turn: two rows, one cost, one run in the last five."""
        schedule = budgeted(alice)
        fire()
        [work] = begin()
        settle(failed(work, input_tokens=50_000, output_tokens=0), now=NOW)
        later = NOW + MINUTE
        [again] = begin(later)
        settle(ended(again, **CENTS_30), now=later)
        assert sorted(UsageEntry.objects.values_list("cost", flat=True)) == [Decimal("0.15"), Decimal("0.30")]
        assert len(set(UsageEntry.objects.values_list("turn", flat=True))) == 1
        schedule.refresh_from_db()
        assert (Run.objects.get().cost, schedule.recent_costs) == (Decimal("0.45"), ["0.450000"])

    def test_a_retry_that_fits_no_more_ends_with_the_error_of_its_last_attempt(self, alice):
        schedule = budgeted(alice, "0.20")
        fire()
        [work] = begin()
        settle(failed(work, input_tokens=100_000, output_tokens=0), now=NOW)
        assert begin(NOW + MINUTE) == []
        assert reasons(schedule) == [("failed", "provider_unreachable")]

    def test_a_stream_that_was_cut_is_counted_by_its_text_and_marked(self, alice):
        budgeted(alice)
        fire()
        [work] = begin()
        settle(ended(work, "stopped", "word " * 100, code="stopped_by_owner"), now=NOW)
        row = UsageEntry.objects.get()
        assert (row.estimated, row.output_tokens) == (True, 125)
        assert row.input_tokens > 0
        assert Turn.objects.get().usage_estimated

    def test_a_lost_worker_is_counted_by_what_it_had_flushed(self, alice):

        budgeted(alice)
        fire()
        begin()
        Message.objects.filter(role="assistant").update(text="word " * 100)
        leases_recover(now=NOW + 2 * MINUTE)
        assert (UsageEntry.objects.get().output_tokens, UsageEntry.objects.get().estimated) == (125, True)

    def test_a_model_without_prices_has_usage_and_no_cost_and_no_budget_binds_it(self, alice):
        schedule = budgeted(alice, "0.00", agent=make_agent(model=make_model()))
        hours(2)
        assert reasons(schedule) == [("succeeded", "")] * 2
        assert set(UsageEntry.objects.values_list("cost", flat=True)) == {None}
        assert spent(alice) == 0

    def test_a_budget_of_nothing_lets_no_priced_run_start(self, alice):
        schedule = budgeted(alice, "0.00")
        hours(1)
        assert reasons(schedule) == [("skipped", "budget")]

    def test_a_price_that_changed_is_the_next_attempts(self, alice):
        budgeted(alice)
        hours(1)
        ChatModel.objects.update(price_input=Decimal(1))
        hours(1, start=NOW + HOUR)
        assert sorted(UsageEntry.objects.values_list("cost", flat=True)) == [Decimal("0.10"), Decimal("0.30")]


def test_neither_start_nor_settle_takes_a_query_more_for_who_is_not_bound(alice):
    """The batched path costs one insert more at the end and nothing at the start, however many turns there are."""

    agent = priced()
    counts = []
    for many in (1, 3):
        for _ in range(many):
            due_schedule(alice, agent=agent, at=NOW + many * HOUR)
        at = NOW + many * HOUR
        fire(at)
        turns = claim(at)

        with CaptureQueriesContext(
            connection,
        ) as starting:
            works = turns_start(turns=turns, now=at)
        turns_dispatch(works=works, now=at)
        with CaptureQueriesContext(connection) as settling:
            settle(*[ended(work, **CENTS_30) for work in works], now=at)
        about = ("accounts_usageentry", "accounts_creditentry")
        counts.append([sum(any(t in q["sql"] for t in about) for q in queries) for queries in (starting, settling)])
        Schedule.objects.update(next_run_at=None, enabled=False)
    assert counts == [[0, 1], [0, 1]]
