"""`manage.py setup_link`: the one-time address that makes the first operator, when there is no account."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.services.users import setup_link_make
from core.clock import now
from core.commands import ProductCommand


class Command(ProductCommand):
    help = "Print the one-time set-up address when there is no account yet; nothing otherwise."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--base-url", default="http://127.0.0.1:8000", help="Where the server answers.")

    def act(self, **options: Any) -> str | None:
        token = setup_link_make(now=now())
        return f"{options['base_url'].rstrip('/')}/setup/{token}" if token else None
