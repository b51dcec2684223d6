"""What owners do meanwhile, through the product's services, and what is known of it from outside.

The schedules they do it to are extra ones: what is judged of all others needs no knowledge of any act.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from core import clock
from tests.faults.programme.world import World

NUMBERS = {"switched": 12, "deleted": 16, "by hand": 24}


@dataclass(frozen=True)
class Extra:
    """A schedule of every minute that owners act on, as it was made; one `by hand` is off from the beginning."""

    id: int
    kind: str
    public_id: str
    anchor: datetime
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Act:
    """What an owner did and when it was asked for and answered; an act that was refused is none.

    `detail`: the key and `answer` the run of a `run now`; the minutes between occurrences that an `edit` set, and in
    `number` which edit of the schedule it was.
    """

    name: str
    schedule: int
    began: datetime
    ended: datetime
    detail: str = ""
    answer: str = ""
    number: int = 0


class Owners:
    """People who pause, resume, edit, delete and run by hand while things go wrong."""

    def __init__(self, here: World, extras: list[Extra], *, chance: random.Random) -> None:
        self.here, self.extras, self.chance = here, extras, chance
        self.acts: list[Act] = []
        self.off: set[int] = set()
        self.edits: dict[int, int] = {}

    def faults(self) -> dict[str, Callable[[], None]]:
        """Return name -> act, as the faults are called for."""
        return {
            "pause or resume": lambda: self._some(3, "switched", self._switch),
            "edit": lambda: self._some(2, "switched", self._edit),
            "delete": lambda: self._some(2, "deleted", self._delete),
            "run now": lambda: self._some(3, "by hand", self._run_now),
        }

    def _some(self, number: int, kind: str, act: Callable[[Extra], None]) -> None:
        gone = {done.schedule for done in self.acts if done.name == "delete"}
        here = [extra for extra in self.extras if extra.kind == kind and extra.id not in gone]
        for extra in self.chance.sample(here, min(number, len(here))):
            act(extra)

    def _switch(self, extra: Extra) -> None:
        from schedules.services.switching import schedule_pause, schedule_resume

        name, service = ("resume", schedule_resume) if extra.id in self.off else ("pause", schedule_pause)
        if self._act(name, extra, lambda row, now: service(schedule=row, now=now)):
            self.off ^= {extra.id}

    def _edit(self, extra: Extra) -> None:
        """Change the prompt, and the rule from every minute to every second one or back."""
        from schedules.services.editing import schedule_edit

        number = self.edits.get(extra.id, 0) + 1
        every = 2 if number % 2 else 1
        body = {"prompt": said(extra.kind, extra.public_id, number), "cadence": cadence(extra.anchor, every)}
        edit = lambda row, now: schedule_edit(schedule=row, body=body, now=now)  # noqa: E731
        if self._act("edit", extra, edit, detail=str(every), number=number):
            self.edits[extra.id] = number

    def _delete(self, extra: Extra) -> None:
        from schedules.services.switching import schedule_delete

        self._act("delete", extra, lambda row, now: schedule_delete(schedule=row, now=now))

    def _run_now(self, extra: Extra) -> None:
        """Press twice with one key; whoever comes by again later presses with the same key."""
        from schedules.services.runs import run_now

        press = lambda row, now: run_now(schedule=row, actor=row.owner, now=now, key="pressed").public_id  # noqa: E731
        for _ in range(2):
            self._act("run now", extra, press, detail="pressed")

    def _act(
        self, name: str, extra: Extra, work: Callable[[Any, datetime], Any], *, detail: str = "", number: int = 0
    ) -> bool:
        """Do it, again while the database is away, and note it; return whether it was accepted."""
        from core.errors import Refusal
        from schedules.models import Schedule

        def once() -> Any:
            row = Schedule.objects.filter(pk=extra.id).select_related("owner").first()
            return work(row, clock.now()) if row else "gone"  # a delete that was done though its answer was lost

        began = clock.host_now()
        try:
            answer = self.here.act(once)
        except Refusal:
            return False
        answered = answer if isinstance(answer, str) else ""
        self.acts.append(Act(name, extra.id, began, clock.host_now(), detail, answered, number))
        return True


def extras_seed(here: World, *, start: datetime, window: timedelta, chance: random.Random) -> list[Extra]:
    """Add the schedules that owners act on."""
    from accounts.models import User
    from agents.models import Agent
    from schedules.models import Schedule

    agent, owners = Agent.objects.get(name="Bench"), list(User.objects.filter(email__startswith="owner").order_by("pk"))
    rows, kinds = [], [kind for kind, number in NUMBERS.items() for _ in range(number)]
    for n, kind in enumerate(kinds):
        first, on = start + timedelta(seconds=chance.randrange(1, 60)), kind != "by hand"
        row = Schedule(
            owner=owners[n % len(owners)], agent=agent, name=f"{kind} {n}", zone="UTC", cadence=cadence(first, 1),
            created_at=start, updated_at=start, planned_through=start, next_run_at=first if on else None,
            next_occurrence_at=first if on else None, until=start + window, min_gap_seconds=60, enabled=on,
            paused_at=None if on else start,
        )  # fmt: skip
        row.prompt = said(kind, row.public_id, 0)
        rows.append((row, kind, first))
    Schedule.objects.bulk_create([row for row, _, _ in rows])
    return [Extra(row.pk, kind, row.public_id, at, start, start + window) for row, kind, at in rows]


def said(kind: str, public_id: str, edit: int) -> str:
    """Return the prompt of an extra schedule after so many edits: who and which edit can be read from it."""
    return f"{kind} {public_id} edit {edit} for {{{{date}}}} {{{{time}}}}"


def cadence(anchor: datetime, every: int) -> dict[str, Any]:
    """Return the rule of every so many minutes from `anchor`."""
    at = anchor.isoformat().replace("+00:00", "Z")
    return {"kind": "interval", "every": every, "unit": "minutes", "anchor": at}
