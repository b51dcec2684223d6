"""When a call may leave by a provider's requests and tokens per minute (R24)."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from chats.domain.rate import WINDOW, Allowance, Window

NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def window(*calls: tuple[float, int], requests: int | None = None, tokens: int | None = None) -> Window:
    """Calls are (seconds ago, tokens)."""
    return Window(Allowance(requests, tokens), [(NOW - ago * SECOND, size) for ago, size in calls], now=NOW)


def waits(room: Window, *sizes: int) -> list[float]:
    return [(room.take(size) - NOW).total_seconds() for size in sizes]


def test_without_calls_as_many_leave_as_are_allowed_and_the_rest_a_minute_later():
    assert waits(window(requests=3), 1, 1, 1, 1, 1, 1, 1) == [0, 0, 0, 60, 60, 60, 120]


def test_a_call_leaves_when_the_oldest_that_counts_is_a_minute_old():
    assert waits(window((50, 1), (20, 1), requests=2), 1, 1, 1) == [10, 40, 70]


def test_a_call_a_minute_ago_counts_no_longer():
    assert waits(window((60, 1), requests=1), 1) == [0]


def test_tokens_are_counted_together():
    assert waits(window((30, 600), (10, 300), tokens=1000), 100, 100, 500, 500) == [0, 30, 30, 90]


def test_what_is_larger_than_a_whole_minute_leaves_when_nothing_else_counts():
    assert waits(window((30, 10), tokens=1000), 5000, 10) == [30, 90]


def test_nobody_is_passed_over_for_somebody_who_asked_later():
    assert waits(window((30, 600), tokens=1000), 900, 100) == [30, 30]


def test_no_limit_lets_everybody_leave():
    assert waits(window((1, 10**9)), 10**9, 10**9) == [0, 0]


CALLS = st.lists(st.tuples(st.integers(0, 90), st.integers(1, 400)), max_size=12)


@given(CALLS, st.lists(st.integers(1, 400), max_size=30), st.integers(1, 9), st.integers(400, 2000))
def test_in_no_minute_do_more_leave_than_are_allowed(past, sizes, requests, tokens):
    room = window(*past[:requests], requests=requests, tokens=tokens)
    told = [(room.take(size), size) for size in sizes]
    assert told == sorted(told, key=lambda call: call[0])
    calls = [(NOW - ago * SECOND, size) for ago, size in past[:requests]] + told
    for at, _ in told:
        within = [size for start, size in calls if at - WINDOW < start <= at]
        assert len(within) <= requests
        assert sum(within) <= tokens
