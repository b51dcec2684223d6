"""What every management command shares: a refusal becomes one line on standard error and exit code 1."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from core.asking import asked_by
from core.errors import Refusal


def words(refusal: Refusal) -> str:
    """Return the sentence of `refusal`, with the field before each of its errors."""
    if not refusal.fields:
        return refusal.text
    return "\n".join(f"{error.path}: {error.text}" for error in refusal.fields)


class ProductCommand(BaseCommand):
    """A command that calls one service; subclasses write `act`, which returns what to print or None."""

    def handle(self, *args: Any, **options: Any) -> str | None:
        try:
            with asked_by("command"):
                return self.act(**options)
        except Refusal as refusal:
            raise CommandError(words(refusal)) from refusal

    def act(self, **options: Any) -> str | None:
        raise NotImplementedError
