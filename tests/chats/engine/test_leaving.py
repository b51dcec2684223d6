"""Requests are built a few at a time, and the next batch is leased when those of the last have left."""

import asyncio

import pytest

from chats.engine import leaving as module
from chats.engine.leaving import Leaving


@pytest.fixture
def line(monkeypatch):
    """A line in which two may build at a time."""
    monkeypatch.setattr(module, "MOST", 2)
    return Leaving()


async def rounds(number=20):
    for _ in range(number):
        await asyncio.sleep(0)


class Call:
    """One call: it stands in line, and leaves or ends when the test says so."""

    def __init__(self, line):
        self.line, self.inside = line, False
        self.leaves, self.ends = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self.run())

    async def run(self):
        async with self.line.turn() as place:
            self.inside = True
            await self.leaves.wait()
            place.left()
            place.left()
            await self.ends.wait()


async def calls(line, number):
    made = [Call(line) for _ in range(number)]
    await rounds()
    return made


def test_no_more_than_its_most_build_at_a_time_in_the_order_in_which_they_came(line):
    async def main():
        made = await calls(line, 4)
        assert [call.inside for call in made] == [True, True, False, False]
        made[1].leaves.set()
        await rounds()
        assert [call.inside for call in made] == [True, True, True, False]
        for call in made:
            call.task.cancel()
        await asyncio.gather(*(call.task for call in made), return_exceptions=True)

    asyncio.run(main())


def test_one_that_ends_without_having_left_makes_room_all_the_same(line):
    """A call that is stopped, in line or inside, holds nobody back."""

    async def main():
        made = await calls(line, 4)
        made[0].task.cancel()
        made[2].task.cancel()
        await rounds()
        assert [call.inside for call in made] == [True, True, False, True]
        made[1].task.cancel()
        made[3].task.cancel()
        await rounds()
        async with asyncio.timeout(5):
            await line.until(0, seconds=60)
        again = await calls(line, 3)
        assert [call.inside for call in again] == [True, True, False]
        for call in again:
            call.task.cancel()
        await asyncio.gather(*(call.task for call in [*made, *again]), return_exceptions=True)

    asyncio.run(main())


def test_waiting_for_few_ends_with_the_one_that_leaves_and_not_before(line):
    async def main():
        made = await calls(line, 3)
        waiting = asyncio.create_task(line.until(1, seconds=60))
        made[0].leaves.set()
        await rounds()
        assert not waiting.done()
        made[1].leaves.set()
        async with asyncio.timeout(5):
            await waiting
        for call in made:
            call.task.cancel()
        await asyncio.gather(*(call.task for call in made), return_exceptions=True)

    asyncio.run(main())


def test_waiting_has_an_end_though_nobody_leaves(line):
    async def main():
        made = await calls(line, 1)
        async with asyncio.timeout(5):
            await line.until(0, seconds=0.01)
        made[0].task.cancel()
        await asyncio.gather(made[0].task, return_exceptions=True)

    asyncio.run(main())
