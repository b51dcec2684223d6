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
        self._said = ""
        if settings.LOCAL_MODEL:
            self._keep_local_model()
        generate.warm(provider_kinds())
        keep = self._keep_local_model if settings.LOCAL_MODEL else None
        try:
            Supervisor(processes=options["processes"], with_clock=options["clock"], keep=keep).run()
        finally:
            localmodel.stop()

    def _keep_local_model(self) -> None:
        """Start the small model's server, or find it running; where it cannot run say so once and go on without."""
        log = Path(settings.LOCAL_MODEL_LOG) if settings.LOCAL_MODEL_LOG else None
        try:
            localmodel.start(settings.DATA_DIR, log_file=log)
        except localmodel.LocalModelUnavailable as error:
            if str(error) != self._said:
                self._said = str(error)
                self.stderr.write(f"The small local model does not run: {error}")
