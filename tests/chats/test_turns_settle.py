"""The end of a lease: everything that follows in one transaction, once (R2 to R4, R10 to R15, R39)."""

from decimal import Decimal

import pytest

from accounts.models import Notice
from chats.lifecycle import Lost
from chats.models import Conversation, Message, Turn, TurnAttempt
from chats.services import turns_settle as module
from chats.services.turns_settle import turns_settle
from schedules import lifecycle as schedule_lifecycle
from schedules.models import Run, Schedule
from schedules.services import origin
from tests.support.engine import (
    MINUTE,
    NOW,
    at_once,
    begin,
    ended,
    everything,
    failed,
    queued_run,
    row,
    settle,
)

pytestmark = pytest.mark.django_db
FINAL = {"retryable": False}


class TestAnswered:
    def test_one_settle_writes_message_usage_turn_run_card_and_counters(self, alice, make_agent, make_model):
        """R3."""
        model = make_model(price_input=Decimal(3), price_cached=Decimal("0.3"), price_output=Decimal(15))
        run = queued_run(alice, agent=make_agent(model=model), notify={"on": "always"})
        [work] = begin()
        usage = {"input_tokens": 1200, "cached_tokens": 200, "output_tokens": 400}
        assert settle(ended(work, text="It rains.", model_messages="[]", library="lib 1", **usage), now=NOW + MINUTE)
        message = Message.objects.get(role="assistant")
        assert (message.text, message.state, message.model_messages, message.library) == (
            "It rains.", "complete", "[]", "lib 1",
        )  # fmt: skip
        turn = Turn.objects.get()
        assert (turn.status, turn.settled_at, turn.leased_by, turn.error_code) == ("completed", NOW + MINUTE, "", "")
        assert (turn.input_tokens, turn.cached_tokens, turn.output_tokens) == (1200, 200, 400)
        assert turn.cost == Decimal("0.009060")  # 1,000 at 3, 200 at 0.3, 400 at 15 per million
        run.refresh_from_db()
        assert (run.status, run.reason, run.settled_at) == ("succeeded", "", NOW + MINUTE)
        assert (run.attempts, run.input_tokens, run.output_tokens, run.cost) == (1, 1200, 400, turn.cost)
        assert run.duration_seconds == 60
        schedule = Schedule.objects.get()
        assert (schedule.succeeded_count, schedule.reached_count, schedule.last_run_id) == (1, 1, run.pk)
        assert schedule.streak_through == NOW
        conversation = Conversation.objects.get()
        assert (conversation.unread, conversation.updated_at) == (True, NOW + MINUTE)
        assert Notice.objects.get().dedupe_key == f"settled:{run.public_id}"
        attempt = TurnAttempt.objects.get()
        assert (attempt.outcome, attempt.ended_at, attempt.input_tokens) == ("answered", NOW + MINUTE, 1200)

    @pytest.mark.parametrize("text", ["", "  \n\t"])
    def test_an_answer_without_a_word_is_empty_and_leaves_no_bubble(self, alice, text):
        """G14, B71: not a success, not a failure."""
        run = queued_run(alice)
        Schedule.objects.update(failure_streak=3)
        [work] = begin()
        settle(ended(work, text=text))
        run.refresh_from_db()
        assert (run.status, run.reason) == ("empty", "empty_answer")
        assert list(Message.objects.values_list("role", flat=True)) == ["user"]
        assert (Schedule.objects.get().succeeded_count, Schedule.objects.get().failure_streak) == (0, 0)

    def test_an_answer_that_was_cut_says_so(self, alice):
        run = queued_run(alice)
        [work] = begin()
        settle(ended(work, cut=True))
        run.refresh_from_db()
        assert (run.status, run.reason) == ("succeeded", "output_limit")


class TestOneTransaction:
    """R3: broken anywhere in the middle, nothing of it is there."""

    STEPS = [
        (module.lifecycle, "settle_many"),
        (module, "_finish_messages"),
        (schedule_lifecycle, "settle_many"),
        (schedule_lifecycle, "show_last"),
        (schedule_lifecycle, "write_counters"),
        (origin, "tell_blocked"),
        (origin, "tell_settled"),
    ]

    @pytest.mark.parametrize(("room", "step"), STEPS, ids=[step for _, step in STEPS])
    def test_a_crash_after_any_step_leaves_no_trace(self, alice, monkeypatch, room, step):
        queued_run(alice)
        Schedule.objects.update(failure_streak=4)
        [work] = begin()
        before = everything()
        real = getattr(room, step)

        def crash(*args, **kwargs):
            real(*args, **kwargs)
            raise KeyboardInterrupt  # as a kill: nothing in the product handles it

        monkeypatch.setattr(room, step, crash)
        end = failed(work, **FINAL)
        with pytest.raises(KeyboardInterrupt):
            settle(end)
        assert everything() == before
        monkeypatch.undo()
        assert settle(end) == {work.turn.pk}
        assert Schedule.objects.get().blocked_reason == "too_many_failures"
        assert Notice.objects.count() == 2


class TestOnce:
    """R2, R4: a stale fence changes nothing; a terminal status never changes."""

    def test_a_second_settle_is_lost(self, alice):
        queued_run(alice)
        [work] = begin()
        settle(ended(work))
        before = everything()
        assert settle(failed(work), now=NOW + MINUTE) == set()
        assert everything() == before

    def test_a_worker_that_wakes_after_its_turn_was_leased_again_writes_nothing(self, alice):
        queued_run(alice)
        [stale] = begin()
        settle(ended(stale, "lost", "", certainty="definite"))
        [fresh] = begin(NOW + MINUTE, worker="host/2/b")
        before = everything()
        assert settle(ended(stale, text="An old answer.")) == set()
        assert everything() == before
        settle(ended(fresh, text="The answer."))
        assert Message.objects.get(role="assistant").text == "The answer."

    def test_of_a_batch_only_the_lost_one_is_left_out(self, alice, bob):
        queued_run(alice)
        queued_run(bob)
        mine, lost = begin()
        Turn.objects.filter(pk=lost.turn.pk).update(fence=7)
        assert settle(ended(mine), ended(lost)) == {mine.turn.pk}
        assert sorted(Run.objects.values_list("status", flat=True)) == ["running", "succeeded"]

    def test_a_run_that_moved_under_the_settle_undoes_it(self, alice, monkeypatch):
        """R4: the run is moved from the state that was read, or nothing is written at all."""
        run = queued_run(alice)
        [work] = begin()
        real = schedule_lifecycle.settle_many

        def moved_meanwhile(moves, *, now):
            Run.objects.filter(pk=run.pk).update(status="stopped", settled_at=NOW)
            return real(moves, now=now)

        monkeypatch.setattr(schedule_lifecycle, "settle_many", moved_meanwhile)
        with pytest.raises(Lost):
            settle(ended(work))
        assert Turn.objects.get().status == "running"

    @pytest.mark.django_db(transaction=True)
    def test_of_two_at_once_exactly_one_wins(self, alice):
        queued_run(alice)
        [work] = begin()
        ends = [ended(work, text=f"Answer {n}.") for n in range(4)]
        won = at_once([lambda end=end: turns_settle(ends=[end], now=NOW) for end in ends])
        assert sorted(map(len, won)) == [0, 0, 0, 1]
        winner = next(end for end, ids in zip(ends, won, strict=True) if ids)
        assert Message.objects.get(role="assistant").text == winner.text
        assert Schedule.objects.get().succeeded_count == 1


def test_a_run_whose_schedule_was_erased_still_settles(alice, make_turn, make_run):
    """A trial has no schedule either."""
    turn = make_turn(owner=alice, origin="schedule")
    run = make_run(owner=alice, agent=turn.agent, turn=turn, status="queued")
    [work] = begin()
    settle(ended(work))
    run.refresh_from_db()
    assert run.status == "succeeded"


def test_a_persons_turn_settles_without_anybody_to_tell(alice, make_turn, make_conversation):
    conversation = make_conversation(owner=alice)
    turn = make_turn(
        owner=alice, conversation=conversation, origin="person", lane="interactive", status="running", fence=1,
        leased_by="host/1/a", leased_at=NOW, lease_expires_at=NOW + MINUTE,
    )  # fmt: skip
    from chats.services.turns_settle import Ended

    assert settle(Ended(turn.pk, 1, "failed", "", code="provider_error", certainty="ambiguous")) == {turn.pk}
    assert row(turn)["status"] == "failed"
