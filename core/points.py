"""Labelled points of a run's life, where tests of faults stop or kill this process. Nothing happens in production."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Watcher = Callable[[str, Sequence[Any]], None]
_watcher: Watcher | None = None


def watch(watcher: Watcher | None) -> None:
    """Call `watcher(label, about)` at every point from now on; None ends it."""
    global _watcher  # noqa: PLW0603 - one watcher per process, set before work begins
    _watcher = watcher


def reached(label: str, about: Sequence[Any]) -> None:
    """Say that work on `about` passed `label`; silent when it is empty."""
    if _watcher is not None and len(about):
        _watcher(label, about)
