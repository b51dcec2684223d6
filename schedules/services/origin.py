"""The room of turns that runs caused: asked at start, told at every move. Registered with `core.registry` at start-up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import QuerySet

from accounts.selectors.limits import limits_for
from chats.domain.states import TurnStatus
from chats.models import Message, Turn
from core.db import locked
from core.errors import sentence
from core.registry import StartPlan, StartRefused, StartWait
from schedules import lifecycle
from schedules.domain.cadence import CadenceError, zone_of
from schedules.domain.gate import Decision, Moment, decide
from schedules.domain.outcome import run_status
from schedules.domain.states import RunKind
from schedules.domain.streaks import Counters, Settled, block_reason, count, grew
from schedules.domain.title import asked_for, fill, given, moment_words, title_of, variables
from schedules.models import Run, Schedule
from schedules.selectors.facts import run_facts
from schedules.selectors.spend import costs_of
from schedules.services.arming import schedule_arm, schedule_close_due
from schedules.services.starting import before_gate, start_moment
from schedules.services.telling import tell_blocked, tell_interrupted, tell_settled

WAIT_SECONDS = 5.0
LONGEST_ANSWER = 20_000  # characters of `{{last_answer}}`: an answer that quotes the last one must not grow for ever


class ScheduleOrigin:
    """What `chats` needs of a turn whose origin is a run."""

    def start(self, turns: Sequence[Turn], *, now: datetime) -> dict[int, StartPlan | StartRefused | StartWait]:
        """Ask the gate for each turn (moment `start`); a refusal settles the run alone, its schedule is fine."""
        runs = {run.turn_id: run for run in _runs(turns)}
        facts = run_facts(runs.values(), now=now)
        moment = start_moment(list(runs.values()), now=now)
        answers: dict[int, StartPlan | StartRefused | StartWait] = {}
        for turn in turns:
            run = runs[turn.pk]
            early = before_gate(turn, run, moment)
            answers[turn.pk] = early or _answer(turn, run, decide(facts[run.pk], Moment.START))
        return answers

    def started(self, turns: Sequence[Turn], *, now: datetime) -> None:
        """Move the runs to running and show them on their cards."""
        runs = _runs(turns)
        given = {turn.pk: turn.conversation_id for turn in turns}
        lifecycle.start(runs, conversations={run.pk: given[run.turn_id or 0] or 0 for run in runs}, now=now)
        lifecycle.show_last(runs)

    def requeued(self, turns: Sequence[Turn], *, now: datetime) -> None:
        """Move the runs back to queued; a card shows no run that waits."""
        runs = _runs(turns)
        lifecycle.requeue([run.pk for run in runs], now=now)
        lifecycle.show_before(runs)

    def settled(self, turns: Sequence[Turn], *, now: datetime) -> None:
        """Settle the runs with everything that follows: counters, card, block, notices (R3)."""
        by_turn = {turn.pk: turn for turn in turns}
        runs = _runs(turns)
        ids = {run.schedule_id for run in runs if run.schedule_id is not None}
        schedules = {s.pk: s for s in locked(Schedule.objects.filter(pk__in=ids).order_by("pk"))}
        limits = limits_for({run.owner_id for run in runs})
        done = lifecycle.settle_many([_ending(run, by_turn[run.turn_id or 0]) for run in runs], now=now)
        lifecycle.show_last(done)
        follow(runs=done, schedules=schedules, limits=limits, now=now)

    def retry_until(self, turn: Turn, *, now: datetime) -> datetime | None:
        """Return the instant at which the schedule's next occurrence is due: no retry starts from there on.

        One that is open already, waiting for this one, is due now.
        """
        run = Run.objects.filter(turn=turn, kind=RunKind.SCHEDULED).select_related("schedule").first()
        if run is None or run.schedule is None:
            return None
        newer = Run.objects.filter(
            schedule=run.schedule_id, kind=RunKind.SCHEDULED, scheduled_for__gt=run.scheduled_for
        )
        return now if newer.exists() else run.schedule.next_run_at


def _runs(turns: Sequence[Turn]) -> list[Run]:
    rows = Run.objects.filter(turn__in=[turn.pk for turn in turns])
    return list(rows.select_related("schedule", "owner").order_by("scheduled_for", "pk"))


def _answer(turn: Turn, run: Run, decision: Decision) -> StartPlan | StartRefused | StartWait:
    if decision.verdict == "wait":
        return StartWait(WAIT_SECONDS)
    if decision.verdict == "go":
        zone = zone_for(run)
        title = turn.conversation.title if turn.conversation else title_of(run.name, run.scheduled_for, zone)
        budget, recent = (run.schedule.monthly_budget, costs_of(run.schedule)) if run.schedule else (None, None)
        return StartPlan(title, run.project_id, prompt_of(run), budget=budget, recent_costs=recent)
    if turn.attempts_made and turn.error_code:
        # A retry that is refused ends with the error of its last attempt (Run and turn move together).
        return StartRefused(TurnStatus.FAILED, turn.error_code, turn.error_params)
    return StartRefused(TurnStatus.CANCELLED, decision.reason, decision.params)


def zone_for(run: Run) -> ZoneInfo:
    """Return the zone whose clock names the run: the schedule's, else the owner's; a manual run needs no more (R7)."""
    for name in (run.schedule.zone if run.schedule else "", run.owner.zone):
        with suppress(CadenceError):
            return zone_of(name)
    return zone_of("UTC")


def prompt_of(run: Run) -> str:
    """Return the run's prompt with its variables resolved for the occurrence, in the schedule's zone."""
    asked = asked_for(run.prompt)
    if not asked and not run.inputs:
        return run.prompt
    zone = zone_for(run)
    values = variables(run.scheduled_for, zone) | given(run.inputs)
    if asked & {"last_run", "last_answer"}:
        before = _before(run).filter(started_at__isnull=False)
        last = before.order_by("-scheduled_for").first()
        values["last_run"] = moment_words(last.scheduled_for, zone) if last else "never"
        values["last_answer"] = _last_answer(run)[:LONGEST_ANSWER] if "last_answer" in asked else ""
    return fill(run.prompt, values)


def _before(run: Run) -> QuerySet[Run]:
    """Return the earlier runs of the same schedule; a run without a schedule has none, not all others without one."""
    if run.schedule_id is None:
        return Run.objects.none()
    return Run.objects.filter(schedule=run.schedule_id, scheduled_for__lt=run.scheduled_for).exclude(pk=run.pk)


def _last_answer(run: Run) -> str:
    answers = Message.objects.filter(turn__run__in=_before(run), role="assistant").exclude(state="streaming")
    return answers.order_by("-turn__run__scheduled_for").values_list("text", flat=True).first() or ""


def _ending(run: Run, turn: Turn) -> tuple[Run, str, str, dict[str, Any], Turn]:
    status = run_status(turn.status, turn.error_code)
    reason = "output_limit" if turn.output_cut and not turn.error_code else turn.error_code
    return run, status, reason, turn.error_params, turn


def follow(*, runs: Sequence[Run], schedules: Mapping[int, Schedule], limits: Mapping[int, Any], now: datetime) -> None:
    """Write what settled runs do to their schedules, whose rows the caller holds (R10 to R15)."""
    counters = {pk: counters_of(schedule) for pk, schedule in schedules.items()}
    for run in runs:
        schedule = schedules.get(run.schedule_id or 0)
        if schedule is None:
            continue
        end = Settled(
            kind=run.kind,
            status=run.status,
            reason=run.reason,
            scheduled_for=run.scheduled_for,
            current=run.revision == schedule.revision,
            reached=run.attempts > 0,
            cost=run.cost,
        )
        before, after = counters[schedule.pk], count(counters[schedule.pk], end)
        counters[schedule.pk] = after
        if grew(before, after):
            _block(schedule, run, after, limits[run.owner_id], now)
        tell_settled(schedule=schedule, run=run, now=now)
        tell_interrupted(schedule=schedule, run=run, now=now)
    lifecycle.write_counters([(schedules[pk], after) for pk, after in counters.items()], now=now)
    _reopen(schedules.values(), counters, now)


def counters_of(schedule: Schedule) -> Counters:
    """Return the counters as the schedule's row, which the caller holds, has them."""
    return Counters(
        succeeded=schedule.succeeded_count,
        reached=schedule.reached_count,
        failure_streak=schedule.failure_streak,
        balance_skip_streak=schedule.balance_skip_streak,
        through=schedule.streak_through,
        costs=tuple(costs_of(schedule)),
    )


def _block(schedule: Schedule, run: Run, after: Counters, limits: Any, now: datetime) -> None:
    why = block_reason(after, max_failures=limits.max_failures, max_balance_skips=limits.max_balance_skips)
    if not why or not schedule.is_on:
        return
    times = after.failure_streak if why == "too_many_failures" else after.balance_skip_streak
    params = {"count": times, "last": sentence(run.reason, run.reason_params)}
    with suppress(CadenceError):
        schedule_close_due(schedule, now=now, reason="blocked")  # what is due at this instant gets its row (C12)
    if lifecycle.block(schedule, reason=why, params=params, now=now):
        tell_blocked(schedule, now=now)


def _reopen(schedules: Iterable[Schedule], counters: Mapping[int, Counters], now: datetime) -> None:
    """Arm again what `max_runs` had completed, when a run that counted for it never reached a model."""
    for schedule in schedules:
        if schedule.max_runs is None or schedule.completed_at is None:
            continue
        schedule.reached_count = counters[schedule.pk].reached
        if schedule.reached_count < schedule.max_runs:
            with suppress(CadenceError):  # a rule that cannot be read any more makes no settle fail (R39)
                schedule_arm(schedule, now=now)
