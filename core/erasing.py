"""How rows of somebody who leaves go: a bounded batch at a time, named by the column that leads to the person."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models

from core.registry import Eraser, Leaving


def rows_of(model: type[models.Model], column: str) -> Eraser:
    """Return what erases the rows of `model` whose `column` (`owner`, `turn__owner`) is the person who leaves."""

    def erase(leaving: Leaving, *, most: int, now: datetime) -> int:
        ids = batch_of(model, most, **{column: leaving.user_id})
        if ids:
            model._base_manager.filter(pk__in=ids).delete()
        return len(ids)

    return erase


def batch_of(model: type[models.Model], most: int, **found: Any) -> list[Any]:
    """Return the keys of at most `most` rows that match, in their order."""
    rows = model._base_manager.filter(**found).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:most])
