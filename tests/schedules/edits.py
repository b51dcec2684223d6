"""How tests edit a schedule, and see that a refused edit changed nothing."""

from datetime import UTC, datetime

import pytest

from core.errors import Refusal
from schedules.services.editing import schedule_edit
from tests.schedules.conftest import columns

LATER = datetime(2026, 6, 1, 8, 30, tzinfo=UTC)
AFTER_DUE = datetime(2026, 6, 1, 9, 5, tzinfo=UTC)


def edit(schedule, now=LATER, if_match=None, **body):
    return schedule_edit(schedule=schedule, body=body, now=now, if_match=if_match)


def refused(schedule, now=LATER, if_match=None, **body):
    """Return the refusal of an edit, and see that not one column changed."""
    before = columns(schedule)
    with pytest.raises(Refusal) as caught:
        edit(schedule, now, if_match, **body)
    assert columns(schedule) == before
    return caught.value


def fields_of(refusal):
    return [(error.path, error.code) for error in refusal.fields]
