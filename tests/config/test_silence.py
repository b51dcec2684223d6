"""Whether a child of the worker command moves is asked of a clock that nobody can set (C15, R31)."""

from datetime import UTC, datetime, timedelta

from config.worker.silence import Silence

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def test_a_sign_that_changes_is_no_silence_whatever_it_says():
    """C15: two days ahead and back again; by the wall clock the silence would be two days."""
    silence = Silence()
    signs = [NOON, NOON + timedelta(seconds=1), NOON + timedelta(days=2), NOON + timedelta(seconds=3)]
    assert [silence.look(sign, at) for at, sign in enumerate(signs)] == [0, 0, 0, 0]


def test_a_sign_that_stays_the_same_grows_old_with_the_clock_that_nobody_can_set():
    """R31."""
    silence = Silence()
    assert [silence.look(NOON, at) for at in (100.0, 105.0, 121.0)] == [0, 5, 21]
    assert silence.look(NOON + timedelta(seconds=1), 122.0) == 0


def test_none_at_all_is_a_sign_that_stays_the_same_too():
    silence = Silence()
    assert [silence.look(None, at) for at in (0.0, 30.0)] == [0, 30]


def test_silence_counts_only_while_a_sign_is_owed():
    silence = Silence()
    silence.look(NOON, 0.0)
    silence.forget()
    assert [silence.look(NOON, at) for at in (100.0, 104.0)] == [0, 4]
