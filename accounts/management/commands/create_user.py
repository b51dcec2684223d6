"""`manage.py create_user EMAIL [--operator] [--password-stdin]`."""

from __future__ import annotations

import getpass
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.services.users import user_create
from core.clock import now
from core.commands import ProductCommand


class Command(ProductCommand):
    help = "Make an account. The password is asked for, or read from standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--operator", action="store_true", help="May open the admin and change everything.")
        parser.add_argument("--password-stdin", action="store_true", help="Read the password from standard input.")

    def act(self, **options: Any) -> str:
        password = sys.stdin.readline().rstrip("\r\n") if options["password_stdin"] else _asked()
        user = user_create(email=options["email"], password=password, operator=options["operator"], now=now())
        return f"{user.email} can sign in now."


def _asked() -> str:
    if not sys.stdin.isatty():
        raise CommandError("Nobody is here to type a password: use --password-stdin.")
    password = getpass.getpass("Password: ")
    if password != getpass.getpass("Again: "):
        raise CommandError("The two differ.")
    return password
