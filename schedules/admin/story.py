"""The story of one run, in the order in which it happened: the answer to "why did this not run?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from accounts.selectors.stops import global_stop
from chats.models import TurnAttempt
from core.human import duration, say
from schedules.domain.states import RunStatus
from schedules.models import Run
from schedules.outputs.words import outcome_word


@dataclass(frozen=True)
class Event:
    """One thing that happened to a run."""

    at: datetime
    text: str
    bad: bool = False


def why(run: Run, *, now: datetime) -> str:
    """Return in one or two sentences what became of the run, or what it is waiting for."""
    if run.status == RunStatus.QUEUED:
        return _why_queued(run, now)
    if run.status == RunStatus.RUNNING:
        return _("Answering for %(span)s.") % {"span": duration((now - (run.started_at or now)).total_seconds())}
    said = (
        say(run.reason, run.reason_params) if run.reason else _("%(outcome)s.") % {"outcome": outcome_word(run.status)}
    )
    return f"{said} {run.error_text}".strip()


def _why_queued(run: Run, now: datetime) -> str:
    stop = global_stop()
    if stop is not None:
        return say("stopped_by_operator", {"reason": stop.reason})
    turn = run.turn
    if turn is None:
        return _("It waits, and has no turn: recovery looks at it within seconds.")
    if turn.not_before > now and run.attempts + turn.attempts_made:
        last = say(turn.error_code, turn.error_params) if turn.error_code else ""
        words = {"at": f"{turn.not_before:%H:%M:%S} UTC", "n": turn.attempts_made}
        return f"{_('Tries again at %(at)s after %(n)s tries.') % words} {last}".strip()
    span = duration((now - turn.queued_at).total_seconds())
    return _("Waits for a free slot, or for an earlier run of its schedule, for %(span)s.") % {"span": span}


def events(run: Run, attempts: Sequence[TurnAttempt]) -> list[Event]:
    """Return everything that is known to have happened, oldest first."""
    found = [Event(run.scheduled_for, _("Scheduled for this instant.") if run.kind == "scheduled" else _("Asked for."))]
    if run.due_at != run.scheduled_for:
        found.append(Event(run.due_at, _("Due after the spread.")))
    if run.missed_until is not None:
        words = {"n": run.missed_count or "?"}
        found.append(Event(run.missed_until, _("Last of %(n)s missed occurrences.") % words, bad=True))
    late = run.opened_at - run.scheduled_for
    words_late = {"span": duration(late.total_seconds())}
    opened = _("Noticed %(span)s late.") % words_late if late.total_seconds() >= 1 else _("Noticed on time.")
    found.append(Event(run.opened_at, opened, bad=run.late))
    if run.started_at is not None:
        found.append(Event(run.started_at, _("Started.")))
    for attempt in attempts:
        found += _of_attempt(attempt)
    if run.turn is not None and run.turn.stop_requested_at is not None:
        found.append(
            Event(run.turn.stop_requested_at, _("Stop asked for: %(why)s") % {"why": say(run.turn.stop_reason)})
        )
    if run.settled_at is not None:
        reason = f" {say(run.reason, run.reason_params)}" if run.reason else ""
        found.append(Event(run.settled_at, f"{outcome_word(run.status)}.{reason}", bad=run.status in _BAD))
    return sorted(found, key=lambda event: event.at)


_BAD = ("failed", "timed_out", "interrupted", "refused", "missed", "expired")


def _of_attempt(attempt: TurnAttempt) -> list[Event]:
    number = {"n": attempt.number}
    found = [Event(attempt.started_at, _("Try %(n)s began.") % number)]
    if attempt.dispatched_at is not None:
        found.append(Event(attempt.dispatched_at, _("Try %(n)s: the request left.") % number))
    if attempt.ended_at is not None:
        said = say(attempt.error_code) if attempt.error_code else ""
        text = " ".join(part for part in (said, attempt.error_text) if part) or attempt.outcome
        ended = _("Try %(n)s ended: %(text)s") % {**number, "text": text}
        found.append(Event(attempt.ended_at, ended, bad=bool(attempt.error_code)))
    return found
