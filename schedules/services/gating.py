"""Asks the gate outside the clock: for a save, a switch-on and a run by hand (R18)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from schedules.domain.gate import Decision, Moment, decide
from schedules.models import Schedule
from schedules.selectors.facts import schedule_facts, shared_for


def write_refusal(schedule: Schedule, *, now: datetime) -> tuple[str, dict[str, Any]] | None:
    """Return (code, params) of the gate's rows 3 to 13 for an unsaved or locked schedule that would be on, or None."""
    decision = decide(schedule_facts(schedule, shared_for([schedule], now=now)), Moment.WRITE)
    return (decision.reason, dict(decision.params)) if decision.verdict != "go" else None


def manual_decision(schedule: Schedule, *, kind: str, now: datetime) -> Decision:
    """Return what the gate says to a run by hand: switched off, blocked and completed do not matter (R7)."""
    return decide(schedule_facts(schedule, shared_for([schedule], now=now), kind=kind), Moment.FIRE)
