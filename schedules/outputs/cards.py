"""One schedule as a card: everything its template shows, ready to be shown, so that equal cards are equal dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from core.errors import CATALOGUE
from core.human import Reader, duration, say, version
from core.markdown import first_line
from schedules.domain.states import OPEN
from schedules.models import Run, Schedule
from schedules.outputs.wire import description_of
from schedules.outputs.words import FAILURES, STATES, model_label, outcome_word, strip_words, upper_first
from schedules.selectors.lists import Outcome, ScheduleRow
from schedules.selectors.panel import OpenRun

View = dict[str, Any]

GROUPS = {
    "needs_approval": "needs",
    "blocked": "needs",
    "failed": "needs",
    "running": "now",
    "queued": "now",
    "armed": "coming",
    "paused": "resting",
    "completed": "resting",
    "deleting": "resting",
}

_SOON = 5  # seconds that a wait must last before it is worth a figure

_OPENS = {
    "Edit times": "kind",
    "Choose a zone": "zone",
    "Choose an agent": "agent",
    "Choose a project": "project",
}
"""The field of the dialog to which an act of the error table leads; an act that is not here is a post."""


def card_state(row: ScheduleRow) -> str:
    """Return the state a card shows: that of the schedule, and "last run failed" before "on"."""
    last = row.schedule.last_run
    return "failed" if row.state == "armed" and last is not None and last.status in FAILURES else row.state


def card_view(
    row: ScheduleRow,
    *,
    open_runs: Sequence[OpenRun],
    outcomes: Sequence[Outcome],
    reader: Reader,
    held: bool,
    may_write: bool,
) -> View:
    """Return what the card of one schedule shows. `held`: the global stop is on. `v` changes when anything does."""
    schedule, state = row.schedule, card_state(row)
    newest = outcomes[-1].run_id if outcomes else ""
    ten = [outcome.status for outcome in outcomes[-10:]]
    card: View = {
        "id": schedule.public_id,
        "name": schedule.name,
        "state": state,
        "word": str(STATES[state]),
        "off": state in ("paused", "completed", "deleting"),
        "switch": _switch(state, may_write),
        "next": next_view(schedule, state, reader, held=held),
        "what": what_view(row, reader),
        "lives": _lives(row, state, open_runs, reader, may_write=may_write, held=held),
        "last": _last(schedule, outcomes, reader),
        "strip": ten,
        "strip_words": strip_words(ten),
        "may_write": may_write,
        "next_at": schedule.next_occurrence_at.isoformat() if schedule.next_occurrence_at and not held else "",
        "key": f"{schedule.public_id}.{newest or schedule.revision}",
        "said": f"{schedule.name}: {_said(state, ten)}",
    }
    return card | {"v": version(card)}


def what_view(row: ScheduleRow, reader: Reader) -> View:
    """Return what a schedule is, in one line: cadence (its zone only when it is not the reader's), agent, project."""
    schedule, project = row.schedule, row.project
    stored = schedule.project
    colour = stored.colour if project and stored and stored.pk == project.id else 8
    return {
        "cadence": description_of(schedule).removesuffix(f", {reader.zone}"),
        "agent": schedule.agent.name,
        "label": model_label(schedule.agent.model.provider.kind),
        "project": {"name": project.name, "id": project.public_id, "colour": colour} if project else None,
    }


def next_view(schedule: Schedule, state: str, reader: Reader, *, held: bool) -> View | None:
    """Return what comes next, or why nothing does; None where another line says it."""
    at = schedule.next_occurrence_at
    if state == "paused":
        when = reader.date(schedule.paused_at) if schedule.paused_at else ""
        said = _("Paused by you %(when)s. Nothing from the pause is made up.") if when else _("Paused.")
        return {"text": said % {"when": _on(when)} if when else said}
    if state == "completed":
        once = schedule.cadence.get("kind") == "once"
        return {"text": _("Done: its time came, once, as asked.") if once else _("Done: its end was reached.")}
    if state not in ("armed", "failed") or at is None:
        return None
    stamp = reader.stamp(at, reader.short(at, exact=True))
    if held:
        return {"text": _("Held. Due"), "stamp": stamp}
    if at <= reader.now:
        return {"text": _("Due now,"), "stamp": stamp}
    return {"text": _("Next %(away)s,") % {"away": reader.away(at)}, "stamp": stamp}


def _on(day: str) -> str:
    """Return a day as it stands after "paused": "today", "on Mon 2 Mar"."""
    return day if day in (_("today"), _("yesterday")) else _("on %(day)s") % {"day": day}


def _switch(state: str, may_write: bool) -> View | None:
    if state in ("completed", "deleting"):
        return None
    on = state not in ("paused", "blocked")
    return {"on": on, "to": "pause" if on else "resume", "able": on or may_write}


def _said(state: str, statuses: Sequence[str]) -> str:
    settled = next((status for status in reversed(statuses) if status not in OPEN), "")
    if state in ("armed", "failed", "completed") and settled:
        return outcome_word(settled).lower()
    return str(STATES[state]).lower()


def _lives(
    row: ScheduleRow, state: str, open_runs: Sequence[OpenRun], reader: Reader, *, may_write: bool, held: bool
) -> list[View]:
    """Return the blocks of what goes on or waits; a running answer is shown beside whatever else is true."""
    blocks = []
    if state == "blocked":
        blocks.append(blocked_view(row.schedule, may_write=may_write))
    if state == "failed" and row.schedule.last_run is not None:
        blocks.append(_failed(row.schedule.last_run, may_write=may_write))
    running = [run for run in open_runs if run.status == "running"]
    if state == "needs_approval":
        waiting = next(run for run in open_runs if run.status == "needs_approval")
        blocks.append({"s": state, "why": _("Waits for your answer."), "open": waiting.conversation})
    blocks += [running_view(run, reader) for run in running[:1]]
    if state == "queued":
        blocks.append(_queued(open_runs, reader, held=held))
    return blocks


def running_view(run: OpenRun, reader: Reader) -> View:
    """Return the block of an answer that is being written: its first line, for how long, Stop."""
    seconds = (reader.now - (run.started_at or run.opened_at)).total_seconds()
    return {
        "s": "running",
        "line": first_line(run.text) or _("Waiting for the first words."),
        "since": duration(seconds),
        "run": run.run_id,
        "stopping": run.stopping,
        "open": run.conversation,
    }


def _queued(open_runs: Sequence[OpenRun], reader: Reader, *, held: bool) -> View:
    run = next(run for run in open_runs if run.status == "queued")
    return {"s": "queued", "why": queue_reason(run, open_runs, reader, held=held), "run": run.run_id}


def queue_reason(run: OpenRun, others: Sequence[OpenRun], reader: Reader, *, held: bool) -> str:
    """Return the sentence that says what a queued run waits for."""
    if held:
        return _("Waits until everything goes on again.")
    if run.attempts and run.not_before is not None:
        why = say(run.error_code) + " " if run.error_code else ""
        number = run.attempts + 1
        if run.not_before > reader.now:
            return why + _("Tries again at %(at)s (try %(n)s).") % {"at": reader.at(run.not_before), "n": number}
        return why + _("Tries again now (try %(n)s).") % {"n": number}
    before = [other for other in others if other.run_id != run.run_id and other.scheduled_for <= run.scheduled_for]
    if before:
        return _("Waits for the run of %(at)s.") % {"at": reader.at(before[0].scheduled_for)}
    seconds = (reader.now - run.opened_at).total_seconds()
    if seconds < _SOON:
        return _("Waits for a free slot.")
    return _("Waits for a free slot, since %(since)s.") % {"since": duration(seconds)}


def blocked_view(schedule: Schedule, *, may_write: bool) -> View:
    """Return why a schedule is blocked and the one act that mends it."""
    code = schedule.blocked_reason
    act = _act(code) if may_write else None
    return {"s": "blocked", "why": say(code, schedule.blocked_params), "code": code, "act": act}


def _act(code: str) -> View | None:
    entry = CATALOGUE.get(code)
    if entry is None or not entry.act:
        return None
    way = {"edit": _OPENS[entry.act]} if entry.act in _OPENS else {"post": "resume"}
    return {**way, "label": _(entry.act)}


def _failed(run: Run, *, may_write: bool) -> View:
    why = say(run.reason, run.reason_params) if run.reason else ""
    said = _("Last run failed. %(why)s") % {"why": why}
    act = {"post": "run", "label": _("Run now")} if may_write else None
    return {"s": "failed", "why": said.strip(), "code": run.reason, "act": act}


def _last(schedule: Schedule, outcomes: Sequence[Outcome], reader: Reader) -> View | None:
    run = schedule.last_run
    if run is not None and run.status not in OPEN:
        conversation = run.conversation
        link = conversation.public_id if conversation and conversation.deleted_at is None else ""
        return {"s": run.status, "word": outcome_word(run.status), "text": last_text(run, reader), "open": link}
    settled = [outcome for outcome in outcomes if outcome.status not in OPEN]
    if not settled:
        return None
    last = settled[-1]
    text = reader.short(last.scheduled_for)
    return {"s": last.status, "word": outcome_word(last.status), "text": upper_first(text), "open": ""}


def last_text(run: Run, reader: Reader) -> str:
    """Return the last run in a few words: when, and how long or how it ended."""
    when = reader.short(run.scheduled_for)
    took = duration(run.duration_seconds)
    if run.status == "succeeded":
        return upper_first(f"{when}, {took}" if took else when)
    if run.status in FAILURES:
        return upper_first(_("%(when)s, after %(took)s") % {"when": when, "took": took} if took else when)
    return f"{outcome_word(run.status)} {when}"
