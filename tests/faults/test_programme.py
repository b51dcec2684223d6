"""The fault programme in its short form, and the checker that judges it: it finds what is planted."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bench.provider_behaviours import answer_text
from tests.faults.programme.checker import judge
from tests.faults.programme.evidence import Call, Evidence, ManualRow, MessageRow, RunRow, ScheduleRow
from tests.faults.programme.killer import LABELS
from tests.faults.programme.owner import Act, Extra
from tests.support.databases import SERVER, reachable
from tests.support.processes import ROOT

START = datetime(2027, 3, 24, 9, 0, tzinfo=UTC)
SHORT = {"sqlite": ("--seconds", "70"), "postgresql": ("--seconds", "52")}
MINUTE = timedelta(minutes=1)


@pytest.mark.fault
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_whatever_dies_every_occurrence_has_one_row_and_no_text_is_lost(database):
    """R1, R4, R5, R10, R12, R22, R31: a kill at every labelled point, then of every process, judged from outside."""
    if database == "postgresql" and not reachable(SERVER):
        pytest.skip("PostgreSQL does not answer (TEST_DATABASE_URL)")
    command = ["-m", "tests.faults.programme", "--database", database, "--occurrences", "300", "--gap", "0.3"]
    done = subprocess.run(
        [sys.executable, *command, *SHORT[database]], cwd=ROOT, capture_output=True, text=True, check=False, timeout=150
    )
    assert done.stdout, done.stderr[-4000:]
    print(done.stdout)
    report = json.loads(done.stdout)
    assert {name: wrong for name, wrong in report["checks"].items() if wrong} == {}
    assert [label for label in LABELS if report["kills"][label] == 0] == []
    assert report["occurrences"] >= 300
    assert report["statuses"]["succeeded"] > 0
    assert done.returncode == 0


def _asked(number: int) -> str:
    return f"prompt {number}"


def sound() -> Evidence:
    """Return what a sound ledger leaves of one schedule of every minute: three answers, after a missed window of two."""
    schedule = ScheduleRow(
        1, {"kind": "interval", "every": 1, "unit": "minutes", "anchor": START.isoformat()}, START, START + 5 * MINUTE,
        succeeded_count=3, failure_streak=0,
    )  # fmt: skip
    window = RunRow(9, 1, START + MINUTE, START + 2 * MINUTE, 2, "missed", "misfire", START + 3 * MINUTE, None)
    runs = [
        RunRow(n, 1, START + n * MINUTE, None, None, "succeeded", "", START + (n + 1) * MINUTE, n) for n in (3, 4, 5)
    ]
    said = [MessageRow(n, n, "user", _asked(n), "complete") for n in (3, 4, 5)]
    given = [MessageRow(10 * n, n, "assistant", answer_text(_asked(n), 8), "complete") for n in (3, 4, 5)]
    return Evidence(
        [schedule], [window, *runs], said + given, calls=[Call(_asked(n)) for n in (3, 4, 5)], flushes=[(30, 1, 12)]
    )


def wrong(seen: Evidence) -> dict[str, int]:
    return {name: number for name, number in judge(seen).items() if number}


def test_a_sound_ledger_has_nothing_wrong():
    """R5, R10: otherwise no finding would mean anything."""
    assert wrong(sound()) == {}


def test_a_missing_row_is_found():
    """R5: an occurrence without a row is unaccounted, and the counter of successes is no recount any more."""
    seen = sound()
    del seen.runs[-1]
    assert wrong(seen) == {"unaccounted": 1, "succeeded_count wrong": 1}


def test_a_second_row_of_an_occurrence_is_found():
    """R1: also when it lies inside a missed window."""
    seen = sound()
    seen.runs.append(replace(seen.runs[0], id=99, window_end=None, window_count=None))
    assert wrong(seen) == {"duplicates": 1}


def test_a_row_of_no_occurrence_and_a_miscounted_window_are_found():
    """R5: a row covers occurrences, as many as it says."""
    seen = sound()
    seen.runs[0] = replace(seen.runs[0], window_count=3)
    seen.runs.append(replace(seen.runs[0], id=99, scheduled_for=START, window_end=None, window_count=None))
    assert wrong(seen) == {"strays": 1, "windows miscounted": 1}


def test_what_does_not_rest_is_found():
    """R25: a turn that is still leased, and a run that never settled."""
    seen = sound()
    seen.leased_turns.append(5)
    seen.runs[-1] = replace(seen.runs[-1], status="running", settled_at=None)
    assert wrong(seen) == {"leased turns at rest": 1, "runs unsettled at rest": 1, "succeeded_count wrong": 1}


def test_a_wrong_streak_is_found_and_one_out_of_order_is_not_counted():
    """R10, R12: a failure that settles after a newer occurrence changes no streak; one in order does."""
    late = sound()
    late.runs[1] = replace(late.runs[1], status="failed", settled_at=START + 9 * MINUTE)
    late.schedules[0] = replace(late.schedules[0], succeeded_count=2)
    assert wrong(late) == {}
    late.runs[-1] = replace(late.runs[-1], status="failed")
    assert wrong(late) == {"succeeded_count wrong": 1, "failure_streak wrong": 1}


def test_lost_text_is_counted_in_characters():
    """R30: what was flushed stays, also when its message is gone."""
    seen = sound()
    seen.flushes += [(40, 1, len(answer_text(_asked(4), 8)) + 7), (777, 1, 5)]
    assert wrong(seen) == {"flushed characters missing": 12}


def test_a_call_after_stored_text_is_found():
    """A prompt goes out again only when its first try stored nothing, and then once."""
    empty = sound()
    empty.calls.append(Call(_asked(3)))
    assert wrong(empty) == {}
    empty.flushes.append((30, 2, 20))
    empty.calls += [Call(_asked(3)), Call("never asked")]
    assert wrong(empty) == {"calls repeated after text": 1, "calls beyond one repeat": 1, "calls of no turn": 1}


def test_calls_that_brought_no_text_are_tries_and_counted_as_such():
    """A provider that refuses is asked ten times at most, besides what a kill repeats."""
    seen = sound()
    seen.calls += [Call(_asked(3), "status-500", pieces=0)] * 11
    assert wrong(seen) == {}
    seen.calls += [Call(_asked(3), "status-500", pieces=0)] * 2
    assert wrong(seen) == {"calls beyond all tries": 2}


def test_an_answer_that_was_not_sent_or_is_missing_is_found():
    """R3: a success has its answer, and what is kept is the beginning of what the provider said."""
    seen = sound()
    seen.messages[-1] = replace(seen.messages[-1], text="Something else.")
    assert wrong(seen) == {"answers that were not sent": 1}
    del seen.messages[-1]
    assert wrong(seen) == {"successes without an answer": 1}


def test_a_second_answer_of_one_turn_is_found():
    """R4: a stale worker stores no second answer."""
    seen = sound()
    seen.messages.append(replace(seen.messages[-1], id=99))
    assert wrong(seen)["answered twice"] > 0


SECOND = timedelta(seconds=1)


def acted() -> Evidence:
    """Return what is sound after acts on three schedules: switched, deleted, run by hand and pressed twice.

    The first was off from 2:30 to 4:30 and comes every second minute from 5:30 on.
    """

    def act(name: str, schedule: int, minutes: float, **more: Any) -> Act:
        return Act(name, schedule, START + minutes * MINUTE, START + minutes * MINUTE + SECOND, **more)

    extras = [Extra(n, kind, f"sch_{n}", START, START, START + 9 * MINUTE)
              for n, kind in ((1, "switched"), (2, "deleted"), (3, "by hand"))]  # fmt: skip
    pressed = {"detail": "pressed", "answer": "run_a"}
    acts = [
        act("pause", 1, 2.5), act("resume", 1, 4.5), act("edit", 1, 5.5, detail="2", number=1), act("delete", 2, 1.5),
        act("run now", 3, 2, **pressed), act("run now", 3, 7, **pressed),
    ]  # fmt: skip
    runs = [
        RunRow(n, 1, START + n * MINUTE, None, None, "skipped", "overlap", START + n * MINUTE, None)
        for n in (0, 1, 2, 5, 6, 8)
    ]
    empty = Evidence([], runs, [], extras=extras, acts=acts)
    empty.manual.append(ManualRow(3, "run_a", "manual:sch_3:pressed", "failed"))
    return empty


def test_acts_that_were_obeyed_have_nothing_wrong():
    """C12, B77, R7."""
    assert wrong(acted()) == {}


def test_an_occurrence_while_off_of_a_rule_that_is_over_or_without_a_row_is_found():
    """R5, C12: at 3:00 it was off, 7:00 is of the old rule, 8:00 is due."""
    seen = acted()
    seen.runs[-1] = replace(seen.runs[-1], scheduled_for=START + 7 * MINUTE)
    seen.runs.append(replace(seen.runs[-1], id=99, scheduled_for=START + 3 * MINUTE))
    seen.runs.append(replace(seen.runs[0], id=98))
    assert wrong(seen) == {"acts: unaccounted": 1, "acts: rows while off": 2, "acts: duplicates": 1}


def test_what_an_act_met_halfway_or_a_clock_had_opened_before_it_may_have_a_row_or_none():
    """Nobody outside can know; a clock that was 20 s ahead had opened what came just after the pause (C15)."""
    seen = acted()
    seen.acts[0] = replace(seen.acts[0], began=START + 3 * MINUTE - SECOND, ended=START + 3 * MINUTE + SECOND)
    assert wrong(seen) == {}
    seen.runs.append(replace(seen.runs[0], id=99, scheduled_for=START + 3 * MINUTE))
    assert wrong(seen) == {}
    early = 3 * MINUTE - 10 * SECOND
    seen.acts[0] = replace(seen.acts[0], began=START + early, ended=START + early)
    assert wrong(seen) == {"acts: rows while off": 1}
    seen.moves.append((START + early - 8 * SECOND, START + early - 5 * SECOND, 20))
    assert wrong(seen) == {}


def test_what_a_deletion_left_and_a_call_after_it_are_found():
    """B77: erased, and nobody is asked for it any more."""
    seen = acted()
    seen.runs.append(replace(seen.runs[0], id=99, schedule_id=2))
    seen.calls += [Call("deleted sch_2 edit 0 for", at=START + minutes * MINUTE) for minutes in (1.4, 2)]
    assert wrong(seen) == {"acts: not erased": 1, "acts: calls after a delete": 1, "calls of no turn": 1}


def test_a_key_that_ran_twice_or_was_answered_differently_is_found():
    """A double press is one run, however long the two are apart."""
    twice = acted()
    twice.manual.append(ManualRow(3, "run_b", "manual:sch_3:other", "failed"))
    assert wrong(twice) == {"acts: keys run twice or lost": 1}
    lost = acted()
    lost.manual.clear()
    assert wrong(lost) == {"acts: keys run twice or lost": 1}


def test_a_run_that_started_after_an_edit_with_the_words_before_it_is_found():
    """An edit reaches every run that has not started."""
    seen = acted()
    seen.runs[-1] = replace(seen.runs[-1], turn_id=7, started_at=START + 8 * MINUTE)
    seen.messages.append(MessageRow(7, 7, "user", "switched sch_1 edit 1 for", "complete"))
    assert wrong(seen) == {}
    seen.messages[0] = replace(seen.messages[0], text="switched sch_1 edit 0 for")
    assert wrong(seen) == {"acts: edits undone": 1}


def test_a_counter_that_forgot_a_run_by_hand_is_found():
    """R10: it takes every row once."""
    seen = acted()
    seen.schedules.append(ScheduleRow(3, {}, START, None, succeeded_count=0, failure_streak=0))
    assert wrong(seen) == {}
    seen.manual[0] = replace(seen.manual[0], status="succeeded")
    assert wrong(seen) == {"acts: succeeded_count wrong": 1}
