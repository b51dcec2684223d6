"""Judges what owners did meanwhile, from their acts and the rows alone: pause, resume, edit, delete, run now.

Between the instant an act was asked for and the one it was answered nobody outside knows on which side of it an
occurrence fell: there it may have a row or none. Everywhere else it has exactly one, or none at all.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta

from tests.faults.programme.evidence import TRUSTED_SECONDS, Evidence, RunRow
from tests.faults.programme.owner import Act, Extra

MINUTE = timedelta(minutes=1)
UNDER_WAY = timedelta(seconds=3)  # from the last look before a call until the call
STATED = ("pause", "resume", "edit")
_EDIT = re.compile(r" edit (\d+) ")


def judge_acts(seen: Evidence) -> dict[str, int]:
    """Return name -> how much is wrong with the schedules that owners acted on."""
    acts, runs = defaultdict(list), defaultdict(list)
    for act in seen.acts:
        acts[act.schedule].append(act)
    for run in seen.runs:
        runs[run.schedule_id].append(run)
    found = Counter({"acts: unaccounted": 0, "acts: duplicates": 0, "acts: rows while off": 0})
    for extra in seen.extras:
        if extra.kind == "switched":
            found.update(_switched(extra, acts[extra.id], runs[extra.id], seen))
            found["acts: edits undone"] += _undone(acts[extra.id], runs[extra.id], seen)
    found["acts: not erased"] = _not_erased(seen)
    found["acts: calls after a delete"] = _calls_after(seen)
    found["acts: keys run twice or lost"] = _keys(seen)
    found["acts: succeeded_count wrong"] = _successes(seen)
    return dict(found)


def _switched(extra: Extra, acts: list[Act], runs: list[RunRow], seen: Evidence) -> dict[str, int]:
    """R1, R5, C12: one row for each occurrence of the rule in force while it was on, none while it was off."""
    covered: Counter[datetime] = Counter()
    expected, unknown = _occurrences(extra, acts, seen)
    off = 0
    for run in runs:
        if run.window_end is not None:
            covered.update(at for at in expected | unknown if run.scheduled_for <= at <= run.window_end)
        else:
            covered[run.scheduled_for] += 1
            off += run.scheduled_for not in expected | unknown
    return {
        "acts: unaccounted": sum(covered[at] == 0 for at in expected),
        "acts: duplicates": sum(number - 1 for number in covered.values() if number > 1),
        "acts: rows while off": off,
    }


def _occurrences(extra: Extra, acts: list[Act], seen: Evidence) -> tuple[set[datetime], set[datetime]]:
    """Return the occurrences that must have a row, and those that may."""
    expected, unknown = set(), set()
    at = extra.anchor
    while at <= extra.until:
        on, every = True, 1
        doubtful = False
        for act in acts:
            if act.name not in STATED or act.began > at:
                continue
            doubtful |= at <= act.ended + _ahead(act, seen)
            on = {"pause": False, "resume": True}.get(act.name, on)
            every = int(act.detail) if act.name == "edit" else every
        if doubtful:
            unknown.add(at)
        elif on and (at - extra.anchor) // MINUTE % every == 0:
            expected.add(at)
        at += MINUTE
    return expected, unknown


def _ahead(act: Act, seen: Evidence) -> timedelta:
    """Return how far beyond an act the ledger may have been when it came: a clock ran ahead shortly before (C15)."""
    ahead = [timedelta(seconds=by) for _, _, by in seen.moves if 0 < by < TRUSTED_SECONDS]
    most = max(ahead, default=timedelta(0))
    before = [
        timedelta(seconds=by)
        for began, ended, by in seen.moves
        if 0 < by < TRUSTED_SECONDS and began <= act.ended and act.began <= ended + most
    ]
    return max(before, default=timedelta(0))


def _undone(acts: list[Act], runs: list[RunRow], seen: Evidence) -> int:
    """Return how many runs that started after an edit was answered were said in words of before it."""
    said = {message.turn_id: message.text for message in seen.messages if message.role == "user"}
    wrong = 0
    for run in runs:
        found = _EDIT.search(said.get(run.turn_id or 0, ""))
        if found and run.started_at:
            newest = max((act.number for act in acts if act.name == "edit" and act.ended < run.started_at), default=0)
            wrong += int(found[1]) < newest
    return wrong


def _not_erased(seen: Evidence) -> int:
    """Return how many deleted schedules are still there, or rows of theirs (B77)."""
    deleted = {act.schedule for act in seen.acts if act.name == "delete"}
    left = {schedule.id for schedule in seen.schedules} | {run.schedule_id for run in seen.runs}
    return len(deleted & left)


def _calls_after(seen: Evidence) -> int:
    """Return how many calls left for a schedule whose deletion had been answered."""
    names = {extra.id: extra.public_id for extra in seen.extras}
    gone = {names[act.schedule]: act.ended + UNDER_WAY for act in seen.acts if act.name == "delete"}
    return sum(
        call.at is not None and call.at > until
        for call in seen.calls
        for public_id, until in gone.items()
        if f" {public_id} " in call.prompt
    )


def _keys(seen: Evidence) -> int:
    """Return for how many keys there is not exactly one run, or not the one that every answer named."""
    answers: dict[int, set[str]] = defaultdict(set)
    for act in seen.acts:
        if act.name == "run now":
            answers[act.schedule].add(act.answer)
    rows: dict[int, set[str]] = defaultdict(set)
    for run in seen.manual:
        rows[run.schedule_id].add(run.public_id)
    return sum(len(named) != 1 or rows[schedule] != named for schedule, named in answers.items())


def _successes(seen: Evidence) -> int:
    """R10: the counter of successes takes every row once, those of pressing `run now` with them."""
    extras = {extra.id for extra in seen.extras}
    ended = [(run.schedule_id, run.status) for run in seen.runs] + [
        (run.schedule_id, run.status) for run in seen.manual
    ]
    counted = Counter(schedule for schedule, status in ended if status == "succeeded")
    return sum(schedule.succeeded_count != counted[schedule.id] for schedule in seen.schedules if schedule.id in extras)
