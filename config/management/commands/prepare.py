"""`manage.py prepare`: what every start needs, in one process: tables, static files, a first agent, the set-up link."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from accounts.services.users import setup_link_make
from agents.runtime import localmodel
from agents.services import first_look_ensure
from config.staticfiles import collect_if_changed
from core import clock


class Command(BaseCommand):
    help = "Bring the database and the static files up to date; print the set-up link while there is no account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--address", default="http://127.0.0.1:8000", help="where people reach the server")
        parser.add_argument("--no-static", action="store_true", help="leave static files alone: for hosts without web")

    def handle(self, *args: Any, address: str, no_static: bool, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        if not no_static:
            collect_if_changed()
        now = clock.now()
        first_look_ensure(local=settings.LOCAL_MODEL and localmodel.available() is None, now=now)
        token = setup_link_make(now=now)
        if token:
            self.stdout.write("Make the first account here, once, within 24 hours:")
            self.stdout.write(f"{address.rstrip('/')}/setup/{token}")
