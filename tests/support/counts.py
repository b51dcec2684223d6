"""Pytest plugin: writes what ran to the file named by `TEST_COUNTS`, for the summary of `bin/test`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

_ran: dict[str, str] = {}
_deselected: list[str] = []
_broken: list[str] = []
_RANK = ["passed", "skipped", "failed"]


def pytest_deselected(items: list[pytest.Item]) -> None:
    _deselected.extend(item.nodeid for item in items)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _broken.append(f"{report.nodeid} (not collected)")
    elif report.skipped:
        _ran[report.nodeid] = "skipped"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test counts once: failed when any of its phases failed, else skipped (an expected failure too), else passed."""
    outcome = "skipped" if hasattr(report, "wasxfail") else report.outcome
    known = _ran.get(report.nodeid, "passed")
    _ran[report.nodeid] = max(known, outcome, key=_RANK.index)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput") or "TEST_COUNTS" not in os.environ:
        return
    by_outcome: dict[str, list[str]] = {outcome: [] for outcome in _RANK}
    for name, outcome in sorted(_ran.items()):
        by_outcome[outcome].append(name)
    by_outcome["failed"] += _broken
    counts = {**by_outcome, "deselected": sorted(_deselected)}
    Path(os.environ["TEST_COUNTS"]).write_text(json.dumps(counts, indent=1))
