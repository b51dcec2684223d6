"""When a call to a provider may leave, by its requests and tokens per minute (R24). Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

WINDOW = timedelta(seconds=60)


@dataclass(frozen=True)
class Allowance:
    """What a provider takes within any 60 seconds; None is no limit."""

    requests: int | None
    tokens: int | None


class Window:
    """The calls that count against an allowance, and the next ones in the order in which they are asked for.

    First come, first served: nobody is given an instant before that of somebody who asked earlier, so that a large
    prompt is not passed over for ever by small ones.
    """

    def __init__(self, allowance: Allowance, calls: Iterable[tuple[datetime, int]], *, now: datetime) -> None:
        """`calls` are (start, tokens) of calls that have started."""
        self.allowance, self.at = allowance, now
        self.calls = deque(sorted(call for call in calls if call[0] > now - WINDOW))
        self.tokens = sum(tokens for _, tokens in self.calls)

    def take(self, tokens: int) -> datetime:
        """Return when a call of `tokens` may leave, and keep its place.

        One that is larger than a whole minute's allowance leaves when nothing else counts: else it never would.
        """
        self._forget()
        while self.calls and not self._fits(tokens):
            self.at = max(self.calls[0][0] + WINDOW, self.at)
            self._forget()
        self.calls.append((self.at, tokens))
        self.tokens += tokens
        return self.at

    def _fits(self, tokens: int) -> bool:
        allowed = self.allowance
        enough = allowed.requests is None or len(self.calls) < max(allowed.requests, 1)
        return enough and (allowed.tokens is None or self.tokens + tokens <= allowed.tokens)

    def _forget(self) -> None:
        while self.calls and self.calls[0][0] <= self.at - WINDOW:
            self.tokens -= self.calls.popleft()[1]
