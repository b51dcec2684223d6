"""An agent's row that is deleted past the constraints ends no run in silence (R5, R29)."""

import pytest

from schedules.services.reconcile import reconcile
from tests.support.engine import NOW, SECOND, begin, due_schedule, ended, fire, ledger, row_gone, settle

pytestmark = pytest.mark.django_db


class TestAgentGoneUnderWay:
    """Its row is deleted past the constraints while a run waits or is answered: the run has an end all the same."""

    def test_a_queued_run_is_refused_when_it_is_to_start(self, alice, make_agent):
        agent = make_agent()
        schedule = due_schedule(alice, agent=agent)
        fire()
        row_gone(agent)
        reconcile(now=NOW + SECOND)
        assert begin(NOW + SECOND) == []
        assert [row[:2] for row in ledger(schedule)] == [("refused", "agent_deleted")]

    def test_a_running_one_settles_with_its_answer(self, alice, make_agent):
        agent = make_agent()
        schedule = due_schedule(alice, agent=agent)
        fire()
        [work] = begin()
        row_gone(agent)
        reconcile(now=NOW + SECOND)
        assert settle(ended(work), now=NOW + SECOND) == {work.turn.pk}
        assert [row[0] for row in ledger(schedule)] == ["succeeded"]
