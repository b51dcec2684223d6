"""What a starting turn says: the prompt resolved for its occurrence, and the title (B83, B84)."""

import pytest

from schedules.models import Run
from schedules.services.origin import LONGEST_ANSWER
from tests.support.engine import (
    HOUR,
    MINUTE,
    NOW,
    begin,
    due_schedule,
    ended,
    fire,
    ledger,
    queued_run,
    settle,
)

pytestmark = pytest.mark.django_db


class TestPrompt:
    """What a prompt may ask for, resolved for the occurrence in the schedule's zone (B84)."""

    def test_a_late_run_says_the_date_of_its_slot(self, alice):
        at = NOW.replace(month=4, day=15, hour=20, minute=30)
        queued_run(
            alice, cadence={"kind": "daily", "time": "05:30"}, zone="Asia/Tokyo", at=at,
            prompt="{{weekday}} {{date}} {{time}} {{unknown}}",
        )  # fmt: skip
        [work] = begin(at + 20 * MINUTE)
        assert work.prompt == "Thursday 2026-04-16 05:30 {{unknown}}"
        assert Run.objects.get().prompt == "{{weekday}} {{date}} {{time}} {{unknown}}"

    def test_the_last_run_and_its_answer(self, alice):
        schedule = due_schedule(alice, prompt="{{last_run}} / {{last_answer}}")
        fire()
        [first] = begin()
        assert first.prompt == "never / "
        settle(ended(first, text="It rains."))
        fire(NOW + HOUR)
        [second] = begin(NOW + HOUR)
        assert second.prompt == "Mon 1 June 2026, 08:00 / It rains."
        assert [entry[0] for entry in ledger(schedule)] == ["succeeded", "running"]

    def test_an_answer_that_quotes_the_last_one_does_not_grow_for_ever(self, alice):
        due_schedule(alice, prompt="{{last_answer}}" * 10)
        lengths = []
        for hour in range(4):
            fire(NOW + hour * HOUR)
            [work] = begin(NOW + hour * HOUR)
            lengths.append(len(work.prompt))
            settle(ended(work, text=work.prompt or "x" * 3000), now=NOW + hour * HOUR)
        assert lengths == [0, 30_000, 10 * LONGEST_ANSWER, 10 * LONGEST_ANSWER]

    def test_a_run_without_a_schedule_hears_nothing_of_other_peoples(self, alice, bob, make_run, make_turn):
        """Object access: runs that were tried once have no schedule in common."""
        answers = []
        for owner, prompt in ((bob, "Tell me a secret."), (alice, "{{last_run}} / {{last_answer}}")):
            turn = make_turn(owner=owner, origin="schedule")
            make_run(owner=owner, agent=turn.agent, turn=turn, kind="trial", status="queued", prompt=prompt,
                     scheduled_for=NOW + len(answers) * MINUTE)  # fmt: skip
            [work] = begin(NOW + HOUR)
            answers.append(work.prompt)
            settle(ended(work, text="Bob's secret."))
        assert answers[1] == "never / "


def test_a_name_that_fills_its_column_still_makes_a_title(alice):
    """B83."""
    queued_run(alice, name="é" * 1000)
    [work] = begin()
    assert work.turn.conversation.title.endswith("… · 2026-06-01 08:00")
