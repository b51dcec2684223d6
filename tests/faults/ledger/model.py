"""The ledger as runs.md and cadence.md tell it, small and by hand: what is owed, what a look makes of it, the streaks.

The model keeps of one schedule the occurrences that passed while it was on and have no row yet (R5). A look, or the
closing before a pause, turns all of them into rows; the machine compares these with the rows that the product wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.faults.ledger.rules import Rule

OPEN = {"queued", "running"}
LATE = timedelta(seconds=30)
Row = tuple[str, str, datetime, datetime | None, int | None]
"""(status, reason, occurrence, end of a missed window, its count)."""


@dataclass
class Schedule:
    """One schedule as the model knows it; `on_from` is where its mark stands, up to which everything has its row."""

    slot: str
    owner: str
    rule: Rule
    overlap: str
    misfire: str
    grace: timedelta
    max_runs: int | None
    seen: datetime
    enabled: bool = True
    blocked: str = ""
    completed: bool = False
    deleting: bool = False
    skip_next: datetime | None = None
    revision: int = 1
    streak: int = 0
    streak_through: datetime | None = None
    reached: int = 0
    owed: list[datetime] = field(default_factory=list)

    @property
    def on(self) -> bool:
        return self.enabled and not (self.blocked or self.completed or self.deleting)

    def pass_time(self, now: datetime) -> None:
        """Take up what fell due until `now`; what passes while it is off is owed to nobody (C12)."""
        if self.on:
            self.owed += self.rule.between(self.seen, now)
        self.seen = now

    def next(self) -> datetime | None:
        """Return the instant at which the clock has to look again (R6)."""
        if not self.on:
            return None
        return self.owed[0] if self.owed else self.rule.next(self.seen)

    def shown(self) -> datetime | None:
        """Return the next occurrence that will run, which is what people are shown."""
        found = [at for at in self.owed if at != self.skip_next]
        if not self.on or found:
            return found[0] if self.on else None
        after = self.rule.next(self.seen)
        return self.rule.next(after) if after is not None and after == self.skip_next else after

    def arm(self, now: datetime) -> None:
        """Be on from `now`, or completed when nothing is left (R6, C12)."""
        self.seen, self.owed = now, []
        over = self.rule.next(now) is None or self._used_up(0)
        self.completed = over and (self.completed or self.enabled)

    def nothing_left(self, now: datetime) -> bool:
        return self._used_up(0) or self.rule.next(now) is None

    def look(self, now: datetime, *, unfinished: int, active: bool, freed: int) -> list[Row]:
        """Return the rows of one look (C9, C10, gate rows 3 and 15); `freed`: what it replaces and counts no more.

        Ends the schedule when nothing is left, or `max_runs` is used up: what comes after that is owed no more.
        """
        due, self.owed = self.owed, []
        chosen, rows, opened = self._chosen(due, now), list[Row](), -freed
        for verdict, reason, first, last, count in self._folded(due, chosen, now):
            if verdict != "run":
                end = last if verdict == "missed" else None
                rows.append((verdict, reason, first, end, count if end else None))
                continue
            row = self._opened(first, unfinished=unfinished, active=active, serial=len(chosen) > 1)
            rows.append(row)
            opened += row[0] == "queued"
            if self._used_up(opened):
                break
        self.completed = self.completed or self._used_up(opened) or self.rule.next(now) is None
        self.reached += opened + freed  # what was replaced is taken off as it settles
        return rows

    def replaces(self, now: datetime, *, unfinished: int, active: bool) -> bool:
        """Return whether a look at `now` makes room for what it opens."""
        chosen = self._chosen(self.owed, now)
        return self.overlap == "replace" and len(chosen) == 1 and unfinished > 0 and active

    def close(self, now: datetime, why: str) -> list[Row]:
        """Return the rows of what was due and unopened at a pause, a block or an edit of the rule (C12)."""
        due, self.owed = self.owed, []
        line = now - max(self.grace, LATE)
        rows: list[Row] = []
        for verdict, reason, first, last, count in self._folded([at for at in due if at < line], [], now):
            end = last if verdict == "missed" else None
            rows.append((verdict, "misfire" if end else reason, first, end, count if end else None))
        for at in due:
            if at >= line:
                skipped = at == self.skip_next
                rows.append(("skipped" if skipped else "cancelled", "skip_next" if skipped else why, at, None, None))
        return rows

    def settled(self, *, status: str, reason: str, at: datetime, revision: int, called: bool, scheduled: bool) -> bool:
        """Count an ended run; return whether the failure streak grew (R10 to R12)."""
        self.reached -= scheduled and not called
        if revision != self.revision or status not in {"succeeded", "empty", "failed", "timed_out"}:
            return False
        if self.streak_through is not None and at < self.streak_through:
            return False
        grew = status in {"failed", "timed_out"} and reason != "provider_auth"
        self.streak = self.streak + 1 if grew else 0 if status in {"succeeded", "empty"} else self.streak
        self.streak_through = at
        return grew

    def _used_up(self, opened: int) -> bool:
        return self.max_runs is not None and self.reached + opened >= self.max_runs

    def _chosen(self, due: list[datetime], now: datetime) -> list[datetime]:
        candidates = [at for at in due if at != self.skip_next]
        if self.misfire == "run_all":
            return candidates[-10:]
        newest = candidates[-1:]
        if self.misfire == "run_once" or (newest and now - newest[0] <= max(self.grace, LATE)):
            return newest
        return []

    def _folded(
        self, due: list[datetime], chosen: list[datetime], now: datetime
    ) -> Iterator[tuple[str, str, datetime, datetime, int]]:
        """Yield (verdict, reason, first, last, count): stretches of missed ones as one window with its first's reason."""
        window: list[datetime] = []
        for at in [*due, None]:
            if at is not None and at not in chosen and at != self.skip_next:
                window.append(at)
                continue
            if window:
                late = now - window[0] > max(self.grace, LATE)
                reason = "misfire" if self.misfire == "miss" and late else "passed_over"
                yield "missed", reason, window[0], window[-1], len(window)
                window = []
            if at is not None:
                yield ("run", "", at, at, 1) if at in chosen else ("skipped", "skip_next", at, at, 1)

    def _opened(self, at: datetime, *, unfinished: int, active: bool, serial: bool) -> Row:
        if not active:
            return "refused", "owner_inactive", at, None, None
        if unfinished == 0 or serial or self.overlap == "allow":
            return "queued", "", at, None, None
        if self.overlap == "replace" or (self.overlap == "queue_one" and unfinished == 1):
            return "queued", "", at, None, None
        return "skipped", "overlap", at, None, None
