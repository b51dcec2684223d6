"""What ends together is written together; what ends alone does not wait."""

import asyncio

from chats.engine import settling as module
from chats.engine.settling import Settling
from chats.services.turns_settle import Ended


def written(monkeypatch, *, live, ends):
    """Return the batches in which `ends` endings were written that came one after the other, `live` turns in work."""
    gathering, batches, gone = asyncio.Event(), [], []
    monkeypatch.setattr(module, "_settle", batches.append)

    async def gather(seconds):
        assert seconds == module.GATHER
        await gathering.wait()

    async def main():
        async def database(step):
            step()

        settling = Settling(database, gone.append, live=lambda: live - len(gone))
        work = asyncio.create_task(settling.run())
        for number in range(ends):
            settling.add(Ended(number, 1, "answered", ""))
            await real_sleep(0)
            await real_sleep(0)
        gathering.set()
        await settling.finish()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    real_sleep = asyncio.sleep
    monkeypatch.setattr(module.asyncio, "sleep", gather)
    asyncio.run(main())
    assert gone == list(range(ends))
    return [[end.turn_id for end in batch] for batch in batches]


def test_while_others_are_worked_on_an_ending_waits_for_theirs(monkeypatch):
    assert written(monkeypatch, live=10, ends=3) == [[0, 1, 2]]


def test_the_last_one_is_written_at_once(monkeypatch):
    assert written(monkeypatch, live=1, ends=1) == [[0]]


def test_a_batch_has_a_most(monkeypatch):
    monkeypatch.setattr(module, "BATCH", 2)
    assert written(monkeypatch, live=5, ends=5) == [[0, 1], [2, 3], [4]]
