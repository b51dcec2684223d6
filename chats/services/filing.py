"""What `projects` asks about the conversations in its projects; registered with `core.registry` at start-up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from chats.selectors.conversations import counts_by_project, titles_in_project
from chats.services.conversations import conversations_unfile


class ConversationFiling:
    """The room `conversations` of `core.registry.ProjectHolder`."""

    def counts(self, project_ids: Sequence[int]) -> dict[int, int]:
        return counts_by_project(project_ids)

    def names(self, project_id: int) -> list[str]:
        return titles_in_project(project_id)

    def project_going(self, project_id: int, *, moves: bool, move_to: int | None, now: datetime) -> None:
        """Conversations become loose, wherever the schedules go (projects.md)."""
        conversations_unfile(project_id=project_id, now=now)
