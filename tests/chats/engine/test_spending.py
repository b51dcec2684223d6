"""A budget with the real drain and a provider that reports what was used (accounts.md, Spend)."""

from decimal import Decimal

import pytest

from accounts.models import UsageEntry
from agents.models import ChatModel
from chats.models import Turn
from core import clock
from schedules.models import Run, Schedule
from schedules.services.reconcile import reconcile
from schedules.services.switching import schedule_delete
from tests.chats.engine.conftest import outcome
from tests.support.engine import DAY, HOUR, MINUTE, NOW, due_schedule, fire
from tests.support.spending import spent

pytestmark = pytest.mark.django_db(transaction=True)
PROMPT = "What is new?"


def test_three_runs_fit_and_the_provider_is_never_asked_for_a_fourth(ask, owner, agent, drained, fake):
    """Budget 1.00 and runs of 0.30: three requests leave; deleting what they left gives nothing back."""
    first = ask(PROMPT)
    drained()
    used = Turn.objects.get(run=first)
    ChatModel.objects.update(price_input=Decimal(300_000) / used.input_tokens, price_output=Decimal(0))
    UsageEntry.objects.all().delete()
    Schedule.objects.update(enabled=False, next_run_at=None)
    owner.budgeted = True
    owner.save()
    schedule = due_schedule(owner, agent=agent, prompt=PROMPT, monthly_budget=Decimal("1.00"))
    runs = []
    for number in range(5):
        fire(NOW + number * HOUR)
        runs.append(Run.objects.get(schedule=schedule, scheduled_for=NOW + number * HOUR))
        drained()
    assert [outcome(run) for run in runs] == [("succeeded", "")] * 3 + [("skipped", "budget")] * 2
    assert len(fake.requests()) == 4
    month = clock.now()
    assert spent(owner, month).quantize(Decimal("0.01")) == Decimal("0.90")
    schedule_delete(schedule=Schedule.objects.get(pk=schedule.pk), now=NOW + DAY)
    reconcile(now=NOW + DAY + MINUTE)
    assert not Schedule.objects.filter(pk=schedule.pk).exists()
    assert spent(owner, month).quantize(Decimal("0.01")) == Decimal("0.90")


def test_a_stopped_stream_is_billed_by_what_came(ask, agent, draining, fake):
    from chats.services.turns_stop import turn_stop
    from tests.chats.engine.conftest import written
    from tests.support.processes import wait_until

    ChatModel.objects.update(price_input=Decimal(3), price_output=Decimal(15))
    run = ask("[[stream-400x25ms]] Tell me a long story.")
    draining()
    wait_until(lambda: written(run))
    turn_stop(turn_id=run.turn_id, reason="stopped_by_owner", now=clock.now())
    wait_until(lambda: outcome(run)[0] == "stopped")
    entry = UsageEntry.objects.get()
    assert (entry.estimated, entry.output_tokens > 0, entry.cost > 0) == (True, True, True)
