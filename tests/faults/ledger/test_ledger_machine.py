"""A thousand random moves in seven games against a model of the ledger (R1 to R7, R10, R11, R16, R19, R23 to R25, R38, R40).

`LEDGER_GAMES=500 LEDGER_MOVES=150` plays longer, and not the same games each time; a failure prints its moves, with
the time and what came of each. Each game is a transaction that is undone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
from django.db import transaction
from hypothesis import HealthCheck
from hypothesis.stateful import run_state_machine_as_test

from accounts.models import LimitSet
from tests.factories import NOW
from tests.faults.ledger.machine import LedgerMachine
from tests.faults.ledger.reading import PER_DEPLOYMENT, PER_OWNER
from tests.faults.ledger.world import MOST_FAILURES, World

pytestmark = pytest.mark.django_db

GAMES, MOVES = int(os.environ.get("LEDGER_GAMES", "7")), int(os.environ.get("LEDGER_MOVES", "150"))
LONGER = "LEDGER_GAMES" in os.environ


@pytest.fixture
def machine(alice: Any, bob: Any, make_agent: Callable[..., Any]) -> Callable[[], LedgerMachine]:
    """Return what makes a machine: two owners under small limits, one agent, nothing scheduled yet."""
    agent = make_agent(name="Writer")
    common = {"updated_at": NOW, "max_failures": MOST_FAILURES, "min_interval_seconds": 60}
    LimitSet.objects.create(
        scope="deployment", max_concurrent_turns=PER_DEPLOYMENT, max_concurrent=PER_OWNER, max_schedules=100, **common
    )

    class Game(LedgerMachine):
        def __init__(self) -> None:
            super().__init__()
            self.undone = transaction.atomic()
            self.undone.__enter__()
            self.world = World({"alice": alice, "bob": bob}, agent.public_id)

        def teardown(self) -> None:
            transaction.set_rollback(True)
            self.undone.__exit__(None, None, None)

    return Game


@pytest.fixture(autouse=True)
def quick_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure is made smaller for half a minute at most (five are usual): by then its moves can be read."""
    monkeypatch.setattr("hypothesis.internal.conjecture.engine.MAX_SHRINKING_SECONDS", 30, raising=False)


def test_the_ledger_is_as_the_model_has_it_whatever_is_done_in_whatever_order(machine):
    run_state_machine_as_test(
        machine,
        settings=hypothesis.settings(
            max_examples=GAMES,
            stateful_step_count=MOVES,
            deadline=None,
            derandomize=not LONGER,
            database=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
