"""`manage.py docs`: write the pages of `docs/` that are made from the code, and the OpenAPI schema."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from config import reference


class Command(BaseCommand):
    help = "Write docs/errors.md, docs/settings.md and docs/openapi.yaml from the code."

    def handle(self, *args: Any, **options: Any) -> None:
        folder = settings.BASE_DIR / "docs"
        folder.mkdir(exist_ok=True)
        for path in reference.write(folder):
            self.stdout.write(f"written: docs/{path.name}")
        call_command("spectacular", file=str(folder / "openapi.yaml"), validate=True, fail_on_warn=True)
