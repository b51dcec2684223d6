"""Every rule of runs.md is named by a test: in a docstring, a comment or a name, as the word `R8`.

Approvals are not built; the rules about them (R32 to R37) wait for that. One that a test names all the same has come.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, python_files

RULES = [*range(1, 32), 38, 39, 40]
WAITING = range(32, 38)

_RANGE = re.compile(r"\bR(\d+) to R?(\d+)\b")
_NAMED = re.compile(r"(?<![A-Za-z0-9])R(\d+)(?![A-Za-z0-9])|_r(\d+)(?![A-Za-z0-9])")


def named(source: str) -> set[int]:
    """Return the rules that `source` names, as `R8`, within `R10 to R13`, or in a name such as `test_r8_...`."""
    found = {int(one or other) for one, other in _NAMED.findall(source)}
    for first, last in _RANGE.findall(source):
        found |= set(range(int(first), int(last) + 1))
    return found


def by_rule(files: Iterable[Path]) -> dict[int, list[str]]:
    """Return which of `files` name each rule."""
    found: dict[int, list[str]] = {}
    for path in files:
        for number in named((ROOT / path).read_text(encoding="utf-8")):
            found.setdefault(number, []).append(str(path))
    return found


def _tests() -> list[Path]:
    this = Path(__file__).relative_to(ROOT)
    return [path for path in python_files() if path.name.startswith("test_") and path != this]


@pytest.fixture(scope="module")
def naming() -> dict[int, list[str]]:
    return by_rule(_tests())


@pytest.mark.parametrize("number", RULES)
def test_the_rule_is_named_by_a_test(naming, number):
    assert naming.get(number), f"no test names R{number}"


@pytest.mark.parametrize("number", WAITING)
def test_a_rule_that_waits_for_approvals_is_not_tested_yet(naming, number):
    """Fails when approvals come, so that their rules move to those that must be named."""
    assert not naming.get(number), f"R{number} is tested by now: move it from WAITING to RULES"


@pytest.mark.parametrize(
    ("source", "rules"),
    [
        ('"""R8: no effect inside a transaction."""', {8}),
        ("# a stale fence (R4, R39)", {4, 39}),
        ('"""Streaks (R10 to R13)."""', {10, 11, 12, 13}),
        ("def test_r8_holds(): ...", {8}),
        ("R, R100x, BR8, r8 = 1, deepseek-r1", set()),
    ],
)
def test_what_counts_as_naming(source, rules):
    assert named(source) == rules
