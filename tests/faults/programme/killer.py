"""`manage.py worker` whose processes kill themselves where they are told to.

    python -m tests.faults.programme.killer FOLDER [worker's options]

A file FOLDER/LABEL is an order: the first process that reaches LABEL takes it away, notes the label in FOLDER/kills and
ends with SIGKILL. Whoever writes the orders decides where and how often. What was flushed is noted after its commit, as
(message, fence, characters), so that a checker knows what a reader may have seen. A file FOLDER/clock holds by how many
seconds the time is wrong that ticks read.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

LABELS = ("firing", "fired", "leased", "started", "dispatched", "flushed", "stopping", "settling", "settled")
CLOCK = "clock"
FLUSHES = "flushed rows"


class Killer:
    """Watches the points of this process and its children."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = count()

    def passed(self, label: str, about: Sequence[Any]) -> None:
        """Note what was flushed; end this process when `label` is ordered."""
        if label == "flushed":
            rows = [[message_id, fence, len(text)] for message_id, fence, text in about]
            _append(self.folder / FLUSHES / f"{os.getpid()}-{next(self.number)}", json.dumps(rows))
        try:
            (self.folder / label).unlink()  # of two processes that arrive together one dies
        except FileNotFoundError:
            return
        _append(self.folder / "kills", label)
        os.kill(os.getpid(), signal.SIGKILL)


class WrongClock:
    """Stands for `core.clock` where ticks read it: as wrong as the file says at that instant."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / CLOCK

    def now(self) -> datetime:
        from core import clock

        try:
            seconds = int(self.file.read_text())
        except FileNotFoundError:
            seconds = 0
        return clock.now() + timedelta(seconds=seconds)

    def __getattr__(self, name: str) -> Any:
        from core import clock

        return getattr(clock, name)


def order(folder: Path, label: str) -> None:
    """Let the next process that reaches `label` die there."""
    (folder / label).touch()


def ordered(folder: Path, label: str) -> bool:
    """Return whether nobody has died at `label` since it was ordered."""
    return (folder / label).exists()


def kills(folder: Path) -> dict[str, int]:
    """Return for each label how many processes died there."""
    counted = Counter(_lines(folder / "kills"))
    return {label: counted[label] for label in LABELS}


def flushes(folder: Path) -> list[tuple[int, int, int]]:
    """Return (message, fence, characters) of every flush that was committed."""
    notes = sorted((folder / FLUSHES).iterdir())
    return [(row[0], row[1], row[2]) for note in notes for line in _lines(note) for row in json.loads(line)]


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def _append(file: Path, line: str) -> None:
    """Write one line with one call: processes share the file, and one that dies leaves no half of it.

    Files stay small: on a disk that is full beyond their size, what was done must still be noted.
    """
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


def main() -> None:
    folder, *options = sys.argv[1:]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from core import points
    from schedules import clock as ticking

    points.watch(Killer(Path(folder)).passed)
    ticking.clock = WrongClock(Path(folder))  # type: ignore[assignment] # it stands for the module
    call_command("worker", *options)


if __name__ == "__main__":
    main()
