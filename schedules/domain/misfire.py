"""What becomes of occurrences that are due: run, missed or skipped (C8 to C10); from the calendar alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from hashlib import blake2b
from itertools import dropwhile
from typing import Literal

from schedules.domain.cadence_kinds import Cadence
from schedules.domain.occurrences import Occurrence, occurrence_stream, occurrences
from schedules.domain.occurrences_window import count_occurrences as count_due
from schedules.domain.occurrences_window import newest_occurrences

__all__ = ["Planned", "count_due", "plan", "plan_backlog", "plan_due", "spread_of"]

Policy = Literal["miss", "run_once", "run_all"]
Verdict = Literal["run", "missed", "skipped"]

LATE_AFTER_SECONDS = 30
RUN_ALL_MOST = 10
MOST_LISTED = 1000
_TICK = timedelta.resolution


@dataclass(frozen=True)
class Planned:
    """One row of the ledger to be: `first` and `last` are the same occurrence unless a missed window has several.

    `reason` is a code of the error table: `skip_date`, `skip_next`, `misfire`, `passed_over`. `count` is None only for
    a window that is too long to be counted in the tick. `late`: noticed later than 30 s after it was due. `serial`:
    one of several that `run_all` lets run; each waits for the one before, whatever the overlap policy says.
    """

    verdict: Verdict
    reason: str | None
    first: Occurrence
    last: Occurrence
    count: int | None = 1
    late: bool = False
    serial: bool = False


def plan(
    due: Sequence[Occurrence],
    *,
    now: datetime,
    spread_seconds: int,
    grace_seconds: int,
    policy: Policy,
    skip_dates: Collection[date] = frozenset(),
    skip_next: datetime | None = None,
) -> list[Planned]:
    """Return the rows for occurrences due at one look, in order; each occurrence is in exactly one (C9, C10).

    An occurrence noticed within 30 s is on time under any grace, also under a grace of 0.
    """
    spread = timedelta(seconds=spread_seconds)
    left_out = [_left_out(found, skip_dates, skip_next) for found in due]
    candidates = [number for number, reason in enumerate(left_out) if reason is None]
    limit = timedelta(seconds=max(grace_seconds, LATE_AFTER_SECONDS))
    chosen = _chosen(candidates, due, policy, now - spread - limit)
    rows: list[Planned] = []
    for number, found in enumerate(due):
        if number in chosen:
            late = now - spread - found.at > timedelta(seconds=LATE_AFTER_SECONDS)
            rows.append(Planned("run", None, found, found, late=late, serial=len(chosen) > 1))
        elif left_out[number] is not None:
            rows.append(Planned("skipped", left_out[number], found, found))
        else:
            in_grace = found.at >= now - spread - limit
            reason = "misfire" if policy == "miss" and not in_grace else "passed_over"
            rows.append(Planned("missed", reason, found, found))
    return _folded(rows)


def plan_due(
    cadence: Cadence,
    zone: str,
    after: datetime,
    *,
    now: datetime,
    spread_seconds: int,
    grace_seconds: int,
    policy: Policy,
    skip_dates: Collection[date] = frozenset(),
    skip_next: datetime | None = None,
    until: datetime | None = None,
    most: int = MOST_LISTED,
) -> list[Planned]:
    """Return the rows for all that became due after the mark `after`: what firing calls, cheap after any downtime.

    With more than `most` due, everything before the first that runs becomes one missed window with `count` None;
    `plan_backlog` turns it into exact rows outside the tick. `until` is the inclusive end of the schedule.
    """
    upto = now - timedelta(seconds=spread_seconds)
    upto = upto if until is None else min(upto, until)
    due = occurrences(cadence, zone, after, upto, limit=most + 1)
    long = len(due) > most
    rows = plan(
        newest_occurrences(cadence, zone, after, upto, most) if long else due,
        now=now,
        spread_seconds=spread_seconds,
        grace_seconds=grace_seconds,
        policy=policy,
        skip_dates=skip_dates,
        skip_next=skip_next,
    )
    if not long:
        return rows
    running = list(dropwhile(lambda row: row.verdict != "run", rows))
    # What comes before the first that runs, listed or not, is the window that is counted later.
    end = running[0].first.at - _TICK if running else upto
    (last,) = newest_occurrences(cadence, zone, after, end, 1)
    reason = "misfire" if policy == "miss" else "passed_over"
    return [Planned("missed", reason, due[0], last, count=None), *running]


def plan_backlog(
    cadence: Cadence,
    zone: str,
    first: datetime,
    last: datetime,
    *,
    reason: str = "misfire",
    skip_dates: Collection[date] = frozenset(),
    skip_next: datetime | None = None,
) -> list[Planned]:
    """Return the exact rows of a window in which nothing runs, both ends included; for use outside the tick.

    Walks through the window without keeping it: dates left out get their own row, all else is folded and counted.
    """

    def rows() -> Iterable[Planned]:
        for found in occurrence_stream(cadence, zone, first - _TICK):
            if found.at > last:
                return
            skipped = _left_out(found, skip_dates, skip_next)
            yield Planned("skipped" if skipped else "missed", skipped or reason, found, found)

    return _folded(rows())


def spread_of(schedule_key: str, limit_seconds: int, kind: str) -> int:
    """Return the stable offset of a schedule in seconds, from 0 to below `limit_seconds`; 0 for `once` (C8)."""
    if kind == "once" or limit_seconds <= 0:
        return 0
    return int.from_bytes(blake2b(schedule_key.encode(), digest_size=8).digest()) % limit_seconds


def _left_out(found: Occurrence, skip_dates: Collection[date], skip_next: datetime | None) -> str | None:
    if found.local.date() in skip_dates:
        return "skip_date"
    return "skip_next" if found.at == skip_next else None


def _chosen(candidates: list[int], due: Sequence[Occurrence], policy: Policy, oldest: datetime) -> list[int]:
    """Return the numbers of the occurrences that run."""
    if policy == "run_all":
        return candidates[-RUN_ALL_MOST:]
    newest = candidates[-1:]
    if policy == "run_once" or (newest and due[newest[0]].at >= oldest):
        return newest
    return []


def _folded(rows: Iterable[Planned]) -> list[Planned]:
    """Return the rows with each stretch of consecutive missed ones as one window, under its first one's reason."""
    found: list[Planned] = []
    window: list[Planned] = []
    count = 0
    for row in rows:
        if row.verdict == "missed":
            window[1:] = [row]
            count += 1
            continue
        found += _window(window, count)
        found.append(row)
        window, count = [], 0
    return found + _window(window, count)


def _window(ends: list[Planned], count: int) -> list[Planned]:
    return [replace(ends[0], last=ends[-1].last, count=count)] if ends else []
