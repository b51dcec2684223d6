"""Judges a ledger from outside: knows schedules, rows, messages and the provider's log, and nothing of the product.

Every check is a number that has to be 0. The calendar is counted here a second time, for the two kinds of cadence that
the programme uses: `once`, and `interval` in minutes from an anchor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from bench.provider_behaviours import answer_text
from tests.faults.programme.checker_owner import judge_acts
from tests.faults.programme.evidence import Evidence, MessageRow, RunRow, ScheduleRow

MOST_CALLS = 2  # a lost worker that stored nothing is repeated once
MOST_TRIES = 12  # ten, one more for a lost worker, and one that a torn connection ate
HEARD = 4  # pieces of an answer; fewer may be lost on their way when a connection is torn
MOST_PIECES = 1_000
OPEN = ("queued", "running", "needs_approval")


def judge(seen: Evidence) -> dict[str, int]:
    """Return name -> how much is wrong."""
    runs: dict[int, list[RunRow]] = defaultdict(list)
    for run in seen.runs:
        runs[run.schedule_id].append(run)
    found: Counter[str] = Counter(
        {
            "unaccounted": 0, "duplicates": 0, "strays": 0, "windows miscounted": 0, "succeeded_count wrong": 0,
            "failure_streak wrong": 0,
        }
    )  # fmt: skip
    extras = {extra.id for extra in seen.extras}
    for schedule in [schedule for schedule in seen.schedules if schedule.id not in extras]:
        found.update(_ledger(schedule, runs[schedule.id]))
        found.update(_counters(schedule, runs[schedule.id]))
    found.update(judge_acts(seen))
    found.update(_answers(seen))
    found.update(_calls(seen))
    found["flushed characters missing"] = _missing(seen)
    found["leased turns at rest"] = len(seen.leased_turns)
    found["runs unsettled at rest"] = sum(run.status in OPEN or run.settled_at is None for run in seen.runs)
    return dict(found)


def due(schedule: ScheduleRow) -> list[datetime]:
    """Return every occurrence after `since` up to `until`, both known from the schedule alone."""
    cadence = schedule.cadence
    if cadence["kind"] == "once":
        return [datetime.fromisoformat(cadence["at"])]
    assert cadence["kind"] == "interval" and cadence["unit"] == "minutes" and schedule.until is not None
    step = timedelta(minutes=cadence["every"])
    anchor = datetime.fromisoformat(cadence["anchor"])
    at = anchor + ((schedule.since - anchor) // step + 1) * step
    found = []
    while at <= schedule.until:
        found.append(at)
        at += step
    return found


def _ledger(schedule: ScheduleRow, runs: list[RunRow]) -> dict[str, int]:
    """R1, R5: each occurrence lies in exactly one row, and a row holds nothing else."""
    covered: Counter[datetime] = Counter()
    occurrences = due(schedule)
    strays = miscounted = 0
    for run in runs:
        inside = [at for at in occurrences if run.scheduled_for <= at <= (run.window_end or run.scheduled_for)]
        covered.update(inside)
        strays += not inside
        miscounted += run.window_end is not None and run.window_count != len(inside)
    return {
        "unaccounted": sum(covered[at] == 0 for at in occurrences),
        "duplicates": sum(covered[at] - 1 for at in occurrences if covered[at] > 1),
        "strays": strays,
        "windows miscounted": miscounted,
    }


def _counters(schedule: ScheduleRow, runs: Iterable[RunRow]) -> dict[str, int]:
    """R10, R12: successes in any order; a streak in the order of occurrences, told in the order of settling."""
    settled = sorted((run for run in runs if run.settled_at), key=lambda run: (run.settled_at, run.scheduled_for))
    streak, through = 0, None
    for run in settled:
        if run.status not in ("succeeded", "empty", "failed", "timed_out"):
            continue
        if through is not None and run.scheduled_for < through:
            continue
        through = run.scheduled_for
        if run.status in ("succeeded", "empty"):
            streak = 0
        elif run.reason != "provider_auth":
            streak += 1
    succeeded = sum(run.status == "succeeded" for run in settled)
    return {
        "succeeded_count wrong": int(schedule.succeeded_count != succeeded),
        "failure_streak wrong": int(schedule.failure_streak != streak),
    }


def _answers(seen: Evidence) -> dict[str, int]:
    """No prompt is said or answered twice; what is kept is what the provider sent, and whole where it succeeded."""
    asked = {message.turn_id: message.text for message in seen.messages if message.role == "user"}
    given = [message for message in seen.messages if message.role == "assistant"]
    by_turn = {message.turn_id: message for message in given}
    called = {call.prompt for call in seen.calls}
    succeeded = [run for run in seen.runs if run.status == "succeeded"]
    return {
        "prompts said twice": sum(count - 1 for count in Counter(asked.values()).values()),
        "answered twice": sum(n - 1 for n in Counter(asked.get(m.turn_id, "") for m in given).values())
        + len(given) - len(by_turn),
        "answers that were not sent": sum(not _sent(asked.get(m.turn_id, ""), m.text) for m in given),
        "drafts left open": sum(message.state == "streaming" for message in given),
        "successes without an answer": sum(not _whole(by_turn.get(run.turn_id or 0)) for run in succeeded),
        "successes nobody was asked for": sum(asked.get(run.turn_id or 0) not in called for run in succeeded),
    }  # fmt: skip


def _sent(prompt: str, text: str) -> bool:
    """Return whether `text` is the beginning of what the provider says to `prompt`."""
    return answer_text(prompt, min(MOST_PIECES, text.count(" ") + 1)).startswith(text)


def _whole(answer: MessageRow | None) -> bool:
    return answer is not None and answer.state == "complete" and bool(answer.text.strip())


def _calls(seen: Evidence) -> dict[str, int]:
    """A prompt goes out again only when its first try stored no text, and then once; nothing else goes out."""
    turn_of = {message.text: message.turn_id for message in seen.messages if message.role == "user"}
    message_of = {message.turn_id: message.id for message in seen.messages if message.role == "assistant"}
    fences: dict[int, set[int]] = defaultdict(set)
    for message_id, fence, characters in seen.flushes:
        if characters:
            fences[message_id].add(fence)
    heard = Counter(call.prompt for call in seen.calls if call.pieces >= HEARD)
    after_text = unknown = beyond = tries = 0
    for prompt, count in Counter(call.prompt for call in seen.calls).items():
        turn = turn_of.get(prompt)
        unknown += turn is None
        beyond += max(heard[prompt] - MOST_CALLS, 0)
        tries += max(count - MOST_TRIES, 0)
        if turn in message_of:
            after_text += len(fences[message_of[turn]]) > 1
    return {
        "calls repeated after text": after_text, "calls beyond one repeat": beyond, "calls beyond all tries": tries,
        "calls of no turn": unknown,
    }  # fmt: skip


def _missing(seen: Evidence) -> int:
    """Return how many characters were flushed and are not there any more."""
    kept = {message.id: len(message.text) for message in seen.messages}
    longest: dict[int, int] = {}
    for message_id, _, characters in seen.flushes:
        longest[message_id] = max(longest.get(message_id, 0), characters)
    return sum(max(characters - kept.get(message_id, 0), 0) for message_id, characters in longest.items())
