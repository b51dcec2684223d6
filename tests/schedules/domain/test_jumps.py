"""A wall clock that jumps is believed only after it has stood for 60 s (C15). Pure."""

from datetime import UTC, datetime, timedelta

from schedules.domain.jumps import JumpGuard

NOON = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


class World:
    """Time passes for both clocks; only the wall clock can be set."""

    def __init__(self) -> None:
        self.guard, self.wall, self.boot = JumpGuard(), NOON, 1000.0

    def after(self, seconds: float, *, jump: timedelta = timedelta(0)) -> tuple[bool, bool]:
        self.boot += seconds
        self.wall += timedelta(seconds=seconds) + jump
        return self.guard.look(self.wall, self.boot)


TRUSTED, WAITS, BELIEVED = (True, False), (False, False), (True, True)


def test_a_clock_that_just_runs_is_trusted_from_the_first_look():
    world = World()
    assert [world.after(1) for _ in range(5)] == [TRUSTED] * 5


def test_a_jump_of_60_s_is_no_jump_and_the_machine_may_sleep():
    """Both clocks go on during suspension; adjustments by NTP are small."""
    world = World()
    world.after(1)
    assert world.after(1, jump=timedelta(seconds=60)) == TRUSTED
    assert world.after(1, jump=timedelta(seconds=-60)) == TRUSTED
    assert world.after(86_400) == TRUSTED


def test_slow_drift_never_adds_up_to_a_jump():
    world = World()
    world.after(1)
    assert all(world.after(1, jump=timedelta(seconds=30)) == TRUSTED for _ in range(100))


def test_a_clock_set_two_days_ahead_for_10_s_opens_nothing_and_leaves_no_trace():
    """B63."""
    world = World()
    world.after(1)
    assert world.after(1, jump=timedelta(days=2)) == WAITS
    assert [world.after(1) for _ in range(9)] == [WAITS] * 9
    assert world.after(1, jump=timedelta(days=-2)) == TRUSTED


def test_a_jump_is_believed_after_60_s_and_said_once():
    world = World()
    world.after(1)
    assert world.after(1, jump=timedelta(hours=-1)) == WAITS
    assert world.after(59) == WAITS
    assert world.after(1) == BELIEVED
    assert world.after(1) == TRUSTED
    assert world.after(1, jump=timedelta(hours=1)) == WAITS
    assert world.after(60) == BELIEVED


def test_a_clock_that_keeps_jumping_is_not_believed_until_it_stands_still():
    world = World()
    world.after(1)
    assert [world.after(30, jump=timedelta(hours=1)) for _ in range(10)] == [WAITS] * 10
    assert world.after(60) == BELIEVED
