"""Rows of the ledger as pages show them: one sentence each, grouped by the reader's days."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.human import Reader, duration, money, say
from schedules.domain.states import NEVER_RAN, OPEN
from schedules.models import Run
from schedules.outputs.words import outcome_word, upper_first

View = dict[str, Any]


def run_row(run: Run, reader: Reader) -> View:
    """Return one ledger row: mark, name, outcome and reason, delay, duration and cost, time."""
    conversation = run.conversation
    return {
        "id": run.public_id,
        "s": run.status,
        "word": outcome_word(run.status),
        "name": run.schedule.name if run.schedule else run.name,
        "schedule": run.schedule.public_id if run.schedule else "",
        "open": conversation.public_id if conversation is not None and conversation.deleted_at is None else "",
        "gone": conversation is not None and conversation.deleted_at is not None,
        "why": why(run, reader),
        "code": run.reason,
        "late": _late(run),
        "figures": _figures(run),
        "at": reader.stamp(run.scheduled_for, _at(run, reader)),
        "when": reader.stamp(run.scheduled_for, upper_first(reader.short(run.scheduled_for))),
        "stop": run.status in OPEN,
    }


def by_day(rows: Sequence[Run], reader: Reader) -> list[View]:
    """Return rows, newest first as given, under the titles of the reader's days."""
    days = groupby(rows, key=lambda run: run.scheduled_for.astimezone(reader.tz).date())
    grouped = [(day.isoformat(), list(runs)) for day, runs in days]
    return [
        {"key": key, "title": reader.day_title(runs[0].scheduled_for), "rows": [run_row(run, reader) for run in runs]}
        for key, runs in grouped
    ]


def why(run: Run, reader: Reader) -> str:
    """Return the sentence that says how a run ended or what it waits for; empty when there is nothing to add."""
    if run.status == "running":
        seconds = (reader.now - (run.started_at or run.opened_at)).total_seconds()
        return _("Answering for %(span)s.") % {"span": duration(seconds)}
    if run.status == "queued":
        return _waits(run, reader)
    said = say(run.reason, run.reason_params) if run.reason else ""
    if run.status == "empty" and not said:
        said = say("empty_answer")
    if run.missed_count and run.missed_count > 1 and run.missed_until is not None:
        return _window(run, reader) + said
    if run.attempts > 1 and run.status == "failed":
        tries = ngettext("(%(n)s try)", "(%(n)s tries)", run.attempts) % {"n": run.attempts}
        return f"{said} {tries}".strip()
    return said


def _waits(run: Run, reader: Reader) -> str:
    turn = run.turn
    if turn is not None and turn.attempts_made and turn.not_before > reader.now:
        before = say(turn.error_code) + " " if turn.error_code else ""
        return before + _("Tries again at %(at)s.") % {"at": reader.at(turn.not_before)}
    since = duration((reader.now - run.opened_at).total_seconds())
    return _("Waits for its turn, since %(since)s.") % {"since": since}


def _window(run: Run, reader: Reader) -> str:
    assert run.missed_until is not None
    first, last = reader.short(run.scheduled_for), reader.short(run.missed_until)
    if reader.date(run.scheduled_for) == reader.date(run.missed_until):
        first, last = reader.at(run.scheduled_for), reader.at(run.missed_until)
    count = f"{run.missed_count:,}"
    return _("%(n)s occurrences, %(first)s to %(last)s: ") % {"n": count, "first": first, "last": last}


def _at(run: Run, reader: Reader) -> str:
    at = reader.at(run.scheduled_for)
    return f"{at}–{reader.at(run.missed_until)}" if run.missed_until else at


def _late(run: Run) -> str:
    if not run.late or run.started_at is None:
        return ""
    delay = duration((run.started_at - run.scheduled_for).total_seconds())
    return _("late by %(delay)s") % {"delay": delay}


def _figures(run: Run) -> str:
    if run.status in NEVER_RAN or (run.settled_at is not None and run.started_at is None):
        return _("not run · no cost")
    how = {"manual": _("run by hand"), "api": _("started by API"), "trial": _("tried once")}.get(run.kind, "")
    on_time = _("on time") if run.started_at is not None and not run.late else ""
    parts = [how or on_time, duration(run.duration_seconds), money(run.cost)]
    return " · ".join(part for part in parts if part)
