"""`manage.py create_token EMAIL --scope S [--scope S]`: the token is the only line on standard output."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from accounts.domain.scopes import SCOPES
from accounts.selectors.users import user_named
from accounts.services.tokens import token_create
from core.clock import now
from core.commands import ProductCommand


class Command(ProductCommand):
    help = "Make an API token and print it, alone, on standard output. It is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        known = ", ".join(SCOPES)
        parser.add_argument("email")
        parser.add_argument(
            "--scope", action="append", required=True, metavar="S", help=f"One of {known}, or fire:<schedule>."
        )
        parser.add_argument("--name", default="Made on the command line", help="How it is listed.")
        parser.add_argument("--days", type=int, help="Ends after so many days; never when not given.")

    def act(self, **options: Any) -> str:
        at = now()
        expiry = at + timedelta(days=options["days"]) if options["days"] is not None else None
        user = user_named(options["email"])
        _, secret = token_create(user=user, name=options["name"], scopes=options["scope"], expiry=expiry, now=at)
        return secret
