"""How long the last runs took, as an inline drawing: places in per cent, heights in pixels, nothing but attributes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from django.utils.translation import gettext as _

from core.human import Reader, duration
from schedules.domain.states import NEVER_RAN
from schedules.models import Run
from schedules.outputs.words import counted

_HEIGHT = 120
_STEPS = (10, 30, 60, 120, 300, 600, 1800, 3600)


def plot_view(runs: Sequence[Run], reader: Reader) -> dict[str, Any] | None:
    """Return bars of the settled runs (newest first as given), oldest first; None when none of them ran."""
    took = [run.duration_seconds for run in runs if run.duration_seconds]
    if not took:
        return None
    top = next((step for step in _STEPS if step >= max(took)), max(took))
    ordered = list(reversed(runs))
    middle = duration(median(took))
    return {
        "bars": [_bar(run, index, len(ordered), top) for index, run in enumerate(ordered)],
        "top": duration(top),
        "half": duration(top / 2),
        "first": reader.date(ordered[0].scheduled_for),
        "last": reader.date(ordered[-1].scheduled_for),
        "median": middle,
        "words": _("Durations of the last %(n)s occurrences: %(outcomes)s; median %(median)s.")
        % {"n": len(ordered), "outcomes": counted(run.status for run in ordered), "median": middle},
    }


def _bar(run: Run, index: int, count: int, top: float) -> dict[str, Any]:
    height = 0 if run.status in NEVER_RAN else round(min((run.duration_seconds or 0) / top, 1) * _HEIGHT)
    return {
        "x": f"{(index + 0.5) / count * 100:.2f}%",
        "s": run.status,
        "y": 128 - max(height, 2),
        "h": max(height, 2),
        "ran": run.status not in NEVER_RAN,
    }
