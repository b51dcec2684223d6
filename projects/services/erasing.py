"""Erases the projects of somebody who leaves, and what operators had decided about where they file."""

from __future__ import annotations

from datetime import datetime

from core.erasing import rows_of
from core.registry import Eraser, Leaving
from projects.models import ChatProject, ProjectPolicy


def pins_forget(leaving: Leaving, *, most: int, now: datetime) -> int:
    """Take the person's policy away, and pins of others that name a project of theirs: those never filed anywhere."""
    count = ProjectPolicy.objects.filter(user=leaving.user_id).delete()[0]
    return count + ProjectPolicy.objects.filter(pinned_project__owner=leaving.user_id).update(pinned_project=None)


ERASERS: dict[str, Eraser] = {
    "projects.ChatProject": rows_of(ChatProject, "owner"),
    "projects.ProjectPolicy": pins_forget,
}
"""By table, what is pointed to first: it is erased last."""
