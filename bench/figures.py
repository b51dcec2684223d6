"""Percentiles, memory and the report of a bench."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` (0 to 1) of all are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000 * len(ordered)) // 1000) - 1))]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return count, median, 99th percentile and maximum, rounded to milliseconds."""
    return {
        "n": len(values),
        "p50": round(percentile(values, 0.5), 3),
        "p99": round(percentile(values, 0.99), 3),
        "max": round(max(values), 3),
    }


def tree_memory(pid: int) -> float:
    """Return the proportional set size (PSS) in MB of a process and all its descendants, shared pages counted once."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(_pss_kilobytes(process.pid) for process in processes) / 1_000


def tree_cpu(pid: int) -> float:
    """Return the seconds of processor time that a process and all its descendants have spent so far."""
    spent = 0.0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            spent += times.user + times.system
    return spent


def _pss_kilobytes(pid: int) -> int:
    """Read the kernel's own sum: adding up every mapping would cost the processes that are measured."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def report(name: str, reached: dict[str, bool], **figures: Any) -> int:
    """Print one JSON object and return the exit code: 0 when every target was reached."""
    print(json.dumps({"bench": name, "cores": os.cpu_count(), **figures, "reached": reached}, indent=1, default=str))
    return 0 if all(reached.values()) else 1
