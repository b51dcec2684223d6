"""A schedule's own page: what it is, what comes, what was."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.selectors.permissions import may
from core.human import Reader, setting_span, version
from core.walltime import UnknownZone
from schedules.domain.cadence import stored_cadence
from schedules.domain.cadence_errors import CadenceError
from schedules.domain.occurrences import Occurrence, occurrences
from schedules.models import Run, Schedule
from schedules.outputs.cards import card_view
from schedules.outputs.ledger import run_row
from schedules.outputs.panel import banner_view, seconds_to_next_look
from schedules.outputs.plot import plot_view
from schedules.outputs.words import MISFIRES, NOTIFIES, OVERLAPS
from schedules.selectors.lists import recent_outcomes, schedule_rows
from schedules.selectors.pages import newest_runs
from schedules.selectors.panel import open_runs_of, standing
from schedules.selectors.spend import spent_this_month

View = dict[str, Any]

_PLOTTED = 30
_LISTED = 20
_COMING = 10


def schedule_page(*, owner: User, schedule: Schedule, reader: Reader) -> View:
    """Return everything the page of `schedule` shows, with its `version` and when to look again."""
    state, runs = standing(reader.now), newest_runs(schedule, _PLOTTED)
    card = card_view(
        schedule_rows([schedule])[0],
        open_runs=open_runs_of(owner, schedule_id=schedule.pk).get(schedule.pk, ()),
        outcomes=recent_outcomes([schedule.pk]).get(schedule.pk, ()),
        reader=reader,
        held=state.stop is not None,
        may_write=may(owner, "create_schedules"),
    )
    view: View = {
        "card": card,
        "prompt": schedule.prompt,
        "coming": coming_view(schedule, reader),
        "facts": facts_view(schedule, reader),
        "runs": [run_row(run, reader) for run in runs[:_LISTED]],
        "more": len(runs) > _LISTED,
        "plot": plot_view(_settled(runs), reader),
        "banner": banner_view(state, reader),
        "place": reader.zone,
    }
    return view | {"version": version(view), "every": seconds_to_next_look([card], reader.now)}


def _settled(runs: list[Run]) -> list[Run]:
    return [run for run in runs if run.settled_at is not None]


def coming_view(schedule: Schedule, reader: Reader) -> list[View]:
    """Return the next ten occurrences on the schedule's own clock, those left out marked as such."""
    there, left_out = reader.in_zone(schedule.zone), set(schedule.skip_dates)
    rows = []
    for occurrence in _coming(schedule, reader):
        out = occurrence.at == schedule.skip_next_at or f"{occurrence.local:%Y-%m-%d}" in left_out
        rows.append(
            {
                "day": there.day_short(occurrence.at),
                "at": there.stamp(occurrence.at, there.at(occurrence.at, exact=True)),
                "away": reader.away(occurrence.at),
                "left_out": out,
                "shifted": occurrence.shifted,
            }
        )
    return rows


def _coming(schedule: Schedule, reader: Reader) -> list[Occurrence]:
    if not schedule.is_on:
        return []
    left = _COMING if schedule.max_runs is None else min(_COMING, schedule.max_runs - schedule.reached_count)
    after = (
        min(reader.now, schedule.next_occurrence_at - timedelta(microseconds=1))
        if schedule.next_occurrence_at
        else reader.now
    )
    try:
        cadence = stored_cadence(schedule.cadence)
        return occurrences(cadence, schedule.zone, after, schedule.until, limit=max(left, 0))
    except (CadenceError, UnknownZone):
        return []


def facts_view(schedule: Schedule, reader: Reader) -> list[tuple[str, str]]:
    """Return the settings of a schedule as label and value."""
    deadline = schedule.deadline_seconds or schedule.agent.deadline_seconds or settings.DEFAULT_DEADLINE_SECONDS
    grace = setting_span(schedule.misfire_grace_seconds)
    missed = dict(MISFIRES)[schedule.misfire_policy]
    return [
        (_("Time zone"), schedule.zone),
        (_("Conversation"), _("A new one each time")),
        (_("If unfinished"), str(dict(OVERLAPS)[schedule.overlap_policy])),
        (_("If missed"), _("%(rule)s, after %(grace)s") % {"rule": missed, "grace": grace}),
        (_("Stop after"), setting_span(deadline)),
        (_("Try again for"), setting_span(schedule.retry_window_seconds)),
        *([(_("Spend a month"), _budget(schedule, reader))] if schedule.monthly_budget is not None else []),
        (_("Tell me"), str(dict(NOTIFIES)[schedule.notify.get("on", "failures")])),
        (_("Ends"), _ends(schedule, reader)),
        (_("Made"), reader.short(schedule.created_at)),
    ]


def _budget(schedule: Schedule, reader: Reader) -> str:
    spent = spent_this_month(schedule, now=reader.now)
    return _("%(spent)s of %(most)s so far") % {"spent": f"{spent:,.2f}", "most": f"{schedule.monthly_budget:,.2f}"}


def _ends(schedule: Schedule, reader: Reader) -> str:
    parts = []
    if schedule.until is not None:
        parts.append(reader.in_zone(schedule.zone).full(schedule.until))
    if schedule.max_runs is not None:
        parts.append(_("after %(n)s runs (%(done)s so far)") % {"n": schedule.max_runs, "done": schedule.reached_count})
    return ", ".join(parts) or _("Never")
