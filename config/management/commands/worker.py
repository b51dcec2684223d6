"""`manage.py worker`: the clock and the cluster of one host, supervised."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agents.runtime import generate, localmodel
from agents.selectors import provider_kinds
from config.worker.supervisor import Supervisor


class Command(BaseCommand):
    help = "Runs the clock and the cluster of this host until SIGTERM. Any number of hosts may run on one database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--processes", type=int, default=settings.WORKER_PROCESSES, help="Drain processes.")
        parser.add_argument("--clock", action=BooleanOptionalAction, default=True, help="Tick on this host.")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.LOCAL_MODEL:
            self._start_local_model()
        generate.warm(provider_kinds())
        try:
            Supervisor(processes=options["processes"], with_clock=options["clock"]).run()
        finally:
            if settings.LOCAL_MODEL:
                localmodel.stop()

    def _start_local_model(self) -> None:
        why_not = localmodel.available()
        if why_not:
            self.stderr.write(f"The small local model is not started: {why_not}")
            return
        log = Path(settings.LOCAL_MODEL_LOG) if settings.LOCAL_MODEL_LOG else None
        localmodel.start(settings.DATA_DIR, log_file=log)
