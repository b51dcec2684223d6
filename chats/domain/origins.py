"""What started a turn. Pure."""

from __future__ import annotations

PERSON = "person"
BY_PERSON = (PERSON,)
"""Origins of turns that a person began by typing. Everything else a machine began, whoever had asked for it: runs of
schedules, by hand and by API, their retries and resumes, timers, inbox, goals."""


def begun_by_person(origin: str) -> bool:
    """Return whether somebody typed and waits for the answer: such turns alone go on under the global stop (gate row 1)."""
    return origin in BY_PERSON
