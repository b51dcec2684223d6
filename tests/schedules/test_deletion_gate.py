"""The gate knows of an account's deletion by itself, whatever the queries before it have left out (gate row 2)."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.services.deletion import deletion_request
from schedules.domain.gate import Decision, Moment, decide
from schedules.selectors.facts import run_facts, schedule_facts, shared_for
from schedules.services.planning import Waits, plan_schedule
from tests.support.engine import NOW, due_schedule, queued_run


def test_a_look_that_had_claimed_the_schedule_writes_nothing(alice: Any):
    """At fire: the request came between the claim and the facts."""
    schedule = due_schedule(alice)
    deletion_request(user=alice, actor=alice, now=NOW)
    with pytest.raises(Waits):
        plan_schedule(schedule=schedule, shared=shared_for([schedule], now=NOW), now=NOW)


def test_start_and_fire_wait_and_a_save_does_not_ask(alice: Any, bob: Any):
    run, other = queued_run(alice), queued_run(bob)
    deletion_request(user=alice, actor=alice, now=NOW)
    facts = run_facts([run, other], now=NOW)
    assert decide(facts[run.pk], Moment.START) == Decision("wait", "account_deleting")
    assert decide(facts[other.pk], Moment.START).verdict == "go"
    schedule = run.schedule
    facts_now = schedule_facts(schedule, shared_for([schedule], now=NOW))
    assert decide(facts_now, Moment.FIRE) == Decision("wait", "account_deleting")
    assert decide(facts_now, Moment.WRITE).verdict == "go"
