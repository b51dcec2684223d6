"""Who reaches which schedule and run (see tests/support/access.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accounts.models import User
from tests import factories
from tests.support.access import Case, Listing, Own, Theirs

CADENCE = {"cadence": {"kind": "daily", "time": "09:00"}}


def _schedule(below: str = "") -> Callable[[User], str]:
    return lambda owner: f"schedules/{factories.make_schedule(owner=owner, armed=True).public_id}{below}"


def _run(below: str = "") -> Callable[[User], str]:
    def make(owner: User) -> str:
        return f"runs/{factories.make_run(schedule=factories.make_schedule(owner=owner)).public_id}{below}"

    return make


def _listed_schedule(owner: User) -> tuple[str, str]:
    return "schedules", factories.make_schedule(owner=owner).public_id


def _listed_run(owner: User) -> tuple[str, str]:
    return "runs", factories.make_run(schedule=factories.make_schedule(owner=owner)).public_id


_DRAFT: dict[str, Any] = {"name": "Mornings", "prompt": "Say hello.", "agent": "agt_none", **CADENCE}

CASES: dict[str, Case] = {
    "GET schedules": Listing(_listed_schedule),
    "POST schedules": Own("makes a schedule of the one who asks", body=_DRAFT),
    "POST schedules/preview": Own("reads nothing of anybody", body=CADENCE, reads=True),
    "GET schedules/<str:id>": Theirs(_schedule()),
    "PATCH schedules/<str:id>": Theirs(_schedule(), body={"name": "Taken over"}),
    "DELETE schedules/<str:id>": Theirs(_schedule()),
    "POST schedules/<str:id>/run": Theirs(_schedule("/run")),
    "POST schedules/<str:id>/fire": Theirs(_schedule("/fire"), fires=True),
    "POST schedules/<str:id>/pause": Theirs(_schedule("/pause")),
    "POST schedules/<str:id>/resume": Theirs(_schedule("/resume")),
    "POST schedules/<str:id>/skip-next": Theirs(
        _schedule("/skip-next"), body={"scheduled_for": "2026-06-01T09:00:00Z"}
    ),
    "GET schedules/<str:id>/runs": Theirs(_schedule("/runs")),
    "GET runs": Listing(_listed_run),
    "GET runs/<str:id>": Theirs(_run()),
    "POST runs/<str:id>/stop": Theirs(_run("/stop")),
    "GET runs/<str:id>/attempts": Theirs(_run("/attempts")),
}
