"""The owner's schedule or run behind an address; somebody else's is not there (P15)."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest

from accounts.models import User
from core.errors import Refusal
from schedules.models import Run, Schedule
from schedules.selectors.lists import run_find, schedule_find


def schedule_or_404(request: HttpRequest, public_id: str) -> Schedule:
    """Return the schedule of the person who asks. Raises Refusal `not_found`."""
    schedule = schedule_find(cast(User, request.user), public_id)
    if schedule is None:
        raise Refusal("not_found")
    return schedule


def run_or_404(request: HttpRequest, public_id: str) -> Run:
    """Return the run of the person who asks. Raises Refusal `not_found`."""
    run = run_find(cast(User, request.user), public_id)
    if run is None:
        raise Refusal("not_found")
    return run
