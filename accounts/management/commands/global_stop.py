"""`manage.py global_stop on|off [--reason TEXT]`."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.selectors.stops import global_stop
from accounts.services.stops import global_stop_set
from core.clock import now
from core.commands import ProductCommand


class Command(ProductCommand):
    help = "Put everything that no person starts on hold, or let it go on. What falls due meanwhile waits."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("switch", choices=["on", "off"])
        parser.add_argument("--reason", default="", help="Shown to everybody while it is on.")

    def act(self, **options: Any) -> str:
        global_stop_set(on=options["switch"] == "on", reason=options["reason"], now=now())
        stop = global_stop()
        if stop is None:
            return "Off: runs start again."
        by_environment = options["switch"] == "off"
        return "Still on: GLOBAL_STOP is set in the environment." if by_environment else "On: nothing starts."
