"""Plain dictionaries as wire.md names them, for the API and whoever reads like it."""

from __future__ import annotations

from typing import Any

from agents.models import Agent
from agents.selectors import state_of_agent
from chats.models import Conversation, TurnAttempt
from core.errors import sentence
from core.wire import instant
from schedules.domain.cadence import stored_cadence
from schedules.domain.cadence_errors import CadenceError
from schedules.domain.choices import DEFAULT_NOTIFY, DEFAULT_RETENTION
from schedules.domain.states import RunStatus
from schedules.models import Run, Schedule
from schedules.selectors.lists import ScheduleRow
from schedules.selectors.words import cadence_words

Json = dict[str, Any]

_WITH_ERROR = (RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.INTERRUPTED)


def schedule_out(row: ScheduleRow) -> Json:
    """Return the wire shape of a schedule."""
    schedule = row.schedule
    return _identity(schedule) | _choices(schedule) | _shown(row)


def _identity(schedule: Schedule) -> Json:
    return {
        "id": schedule.public_id,
        "revision": schedule.revision,
        "created_at": instant(schedule.created_at),
        "updated_at": instant(schedule.updated_at),
        "name": schedule.name,
        "prompt": schedule.prompt,
    }


def _choices(schedule: Schedule) -> Json:
    """What the owner chose, as it would be sent again."""
    return {
        "cadence": schedule.cadence,
        "zone": schedule.zone,
        "until": instant(schedule.until),
        "max_runs": schedule.max_runs,
        "skip_dates": schedule.skip_dates,
        "enabled": schedule.enabled,
        "target": schedule.target.public_id if schedule.target else "new",
        "overlap_policy": schedule.overlap_policy,
        "misfire_policy": schedule.misfire_policy,
        "misfire_grace_seconds": schedule.misfire_grace_seconds,
        "approval_ttl_seconds": schedule.approval_ttl_seconds,
        "hold_on_approval": schedule.hold_on_approval,
        "deadline_seconds": schedule.deadline_seconds,
        "retry_window_seconds": schedule.retry_window_seconds,
        "goal": None,
        "monthly_budget": None if schedule.monthly_budget is None else f"{schedule.monthly_budget:.2f}",
        "retention": DEFAULT_RETENTION,
        "notify": {**DEFAULT_NOTIFY, "on": schedule.notify.get("on", DEFAULT_NOTIFY["on"])},
    }


def _shown(row: ScheduleRow) -> Json:
    """What the server says about it."""
    schedule = row.schedule
    reason = schedule.blocked_reason
    return {
        "agent": _agent(schedule.agent, row.agent_state),
        "project": {"id": row.project.public_id, "name": row.project.name} if row.project else None,
        "project_source": row.destination.source,
        "state": row.state,
        "blocked_reason": reason or None,
        "blocked_text": sentence(reason, schedule.blocked_params) if reason else None,
        "completed_at": instant(schedule.completed_at),
        "next_run_at": instant(schedule.next_occurrence_at) if schedule.is_on else None,
        "pending_approvals": row.open_runs.get(RunStatus.NEEDS_APPROVAL.value, 0),
        "description": description_of(schedule),
        "last_run": _last_run(schedule.last_run),
        "succeeded_count": schedule.succeeded_count,
        "failure_streak": schedule.failure_streak,
        "balance_skip_streak": schedule.balance_skip_streak,
    }


def description_of(schedule: Schedule) -> str:
    """Return the cadence in the owner's words; empty when the stored one cannot be read (`blocked` says so)."""
    try:
        return cadence_words(stored_cadence(schedule.cadence), schedule.zone, schedule.owner)
    except CadenceError:
        return ""


def _agent(agent: Agent, state: str) -> Json:
    return {"id": agent.public_id, "name": agent.name, "state": state}


def _last_run(run: Run | None) -> Json | None:
    if run is None:
        return None
    return {
        "id": run.public_id,
        "status": run.status,
        "reason": run.reason or None,
        "scheduled_for": instant(run.scheduled_for),
        "delay_seconds": delay_seconds(run),
        "conversation": _link(run.conversation),
    }


def _link(conversation: Conversation | None) -> str | None:
    """Return the id of a conversation that can be opened; a deleted one is a tombstone."""
    return conversation.public_id if conversation is not None and conversation.deleted_at is None else None


def delay_seconds(run: Run) -> int | None:
    """Return whole seconds from the nominal instant to the start, None while it has not started."""
    return None if run.started_at is None else int((run.started_at - run.scheduled_for).total_seconds())


def run_out(run: Run) -> Json:
    """Return the wire shape of a run. Load it with `selectors.lists.runs_of`."""
    return _run_facts(run) | _run_links(run) | _run_figures(run)


def _run_facts(run: Run) -> Json:
    return {
        "id": run.public_id,
        "kind": run.kind,
        "scheduled_for": instant(run.scheduled_for),
        "missed_until": instant(run.missed_until),
        "missed_count": run.missed_count,
        "status": run.status,
        "reason": run.reason or None,
        "reason_text": sentence(run.reason, run.reason_params) if run.reason else None,
        "delay_seconds": delay_seconds(run),
        "due_at": instant(run.due_at),
        "opened_at": instant(run.opened_at),
        "started_at": instant(run.started_at),
        "settled_at": instant(run.settled_at),
        "late": run.late,
        "shifted": run.shifted,
        "notified": run.notified,
    }


def _run_links(run: Run) -> Json:
    project = run.project
    return {
        "schedule": run.schedule.public_id if run.schedule else None,
        "agent": _agent(run.agent, state_of_agent(run.agent)),
        "project": {"id": project.public_id, "name": project.name} if project else None,
        "conversation": _link(run.conversation),
        "goal": None,
        "again_of": run.again_of.public_id if run.again_of else None,
        "revision": run.revision,
        "prompt": run.prompt,
    }


def _run_figures(run: Run) -> Json:
    return {
        "duration_seconds": None if run.duration_seconds is None else round(run.duration_seconds),
        "attempts": run.attempts,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost": None if run.cost is None else format(run.cost.normalize(), "f"),
        "error": _error(run),
    }


def _error(run: Run) -> Json | None:
    if run.status not in _WITH_ERROR:
        return None
    return {
        "code": run.reason,
        "text": run.error_text or sentence(run.reason, run.reason_params),
        "attempt": run.attempts,
    }


def attempt_out(attempt: TurnAttempt) -> Json:
    """Return the wire shape of one try at the model."""
    return {
        "number": attempt.number,
        "started_at": instant(attempt.started_at),
        "ended_at": instant(attempt.ended_at),
        "outcome": attempt.outcome or None,
        "code": attempt.error_code or None,
        "certainty": attempt.certainty or None,
        "retryable": attempt.retryable,
    }
