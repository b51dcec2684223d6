"""When an attempt that failed is tried again (runs.md, Failure and retry). Pure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats.domain.retry import LONGEST_RETRY_AFTER, MOST_ATTEMPTS, Failed, Tries, may_repeat, next_try, wait_seconds

NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
SOON = Failed("provider_unreachable", "definite", retryable=True, has_text=False, side_effects=False)
FIRST = Tries(attempts=1, first_dispatched_at=NOW, window_seconds=3600)


def seconds(failed: Failed = SOON, tries: Tries = FIRST, *, chance: float = 0.0) -> float | None:
    at = next_try(failed, tries, now=NOW, chance=chance)
    return None if at is None else (at - NOW).total_seconds()


@pytest.mark.parametrize(
    ("attempt", "least", "most"),
    [(1, 2.5, 5), (2, 5, 10), (3, 10, 20), (4, 20, 40), (5, 40, 80), (6, 80, 160), (7, 150, 300), (9, 150, 300)],
)
def test_the_wait_is_half_fixed_half_random_from_5_s_doubling_to_5_min(attempt, least, most):
    assert wait_seconds(attempt, 0.0) == least
    assert wait_seconds(attempt, 0.5) == (least + most) / 2
    assert most - 0.01 < wait_seconds(attempt, 0.99999) < most


@pytest.mark.parametrize(
    ("situation", "change", "safe"),
    [
        ("definite, before any token", {}, True),
        ("definite, though a tool with effects has run", {"side_effects": True}, True),
        ("ambiguous, no tool with effects", {"certainty": "ambiguous"}, True),
        ("ambiguous, a tool with effects has run", {"certainty": "ambiguous", "side_effects": True}, False),
        ("text was written", {"has_text": True}, False),
        ("nobody says that trying again helps", {"retryable": False}, False),
    ],
)
def test_what_is_tried_again(situation, change, safe):
    failed = replace(SOON, **change)
    assert may_repeat(failed) is safe
    assert (seconds(failed) is not None) is safe


def test_at_most_ten_attempts():
    wide = replace(FIRST, window_seconds=86_400)
    assert seconds(tries=replace(wide, attempts=MOST_ATTEMPTS - 1)) == 150
    assert seconds(tries=replace(wide, attempts=MOST_ATTEMPTS)) is None


def test_the_window_counts_from_the_first_dispatch_and_0_means_no_retry():
    assert seconds(tries=replace(FIRST, window_seconds=0)) is None
    early = replace(FIRST, attempts=3, first_dispatched_at=NOW - timedelta(seconds=90))
    assert seconds(tries=replace(early, window_seconds=99)) is None  # 10 s from now are 100 s after the first
    assert seconds(tries=replace(early, window_seconds=100)) == 10


def test_none_starts_once_the_next_occurrence_is_due():
    assert seconds(tries=replace(FIRST, until=NOW + timedelta(seconds=2.5))) is None
    assert seconds(tries=replace(FIRST, until=NOW + timedelta(seconds=2.6))) == 2.5


@pytest.mark.parametrize(
    ("retry_after", "window", "waits"),
    [
        (1, 3600, 2.5),  # shorter than the back-off: the back-off holds
        (600, 3600, 600),
        (3600, 3600, 3600),
        (3601, 3600, None),  # outside the window: settles at once
        (86_400, 86_400, 86_400),
        (86_401, 90_000, None),  # honoured up to 24 h
        (0, 3600, 2.5),
    ],
)
def test_retry_after_is_never_undercut_and_never_waited_for_beyond_the_window(retry_after, window, waits):
    failed = replace(SOON, code="rate_limited", retry_after=retry_after)
    assert seconds(failed, replace(FIRST, window_seconds=window)) == waits


@given(
    attempts=st.integers(1, 12),
    age=st.integers(0, 90_000),
    window=st.integers(0, 86_400),
    retry_after=st.none() | st.floats(0, 200_000),
    until=st.none() | st.integers(0, 90_000),
    chance=st.floats(0, 1, exclude_max=True),
)
def test_whatever_happened_a_next_try_keeps_every_bound(*, attempts, age, window, retry_after, until, chance):
    tries = Tries(
        attempts, NOW - timedelta(seconds=age), window, NOW + timedelta(seconds=until) if until is not None else None
    )
    at = next_try(replace(SOON, retry_after=retry_after), tries, now=NOW, chance=chance)
    if at is None:
        return
    waited = (at - NOW).total_seconds()
    assert attempts < MOST_ATTEMPTS
    assert waited >= 2.5
    assert at <= tries.first_dispatched_at + timedelta(seconds=window)
    assert tries.until is None or at < tries.until
    if retry_after is not None:
        assert retry_after <= LONGEST_RETRY_AFTER
        assert waited >= retry_after - 1e-5
