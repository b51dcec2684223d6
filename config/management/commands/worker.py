"""`manage.py worker`: the clock and the cluster of one host, supervised."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from agents.runtime import localmodel
from agents.runtime.warming import warm
from agents.selectors import provider_kinds
from config.checks import DEPLOYMENT
from config.worker.supervisor import Supervisor
from core.processes import share_one_heap


class Command(BaseCommand):
    # Without addresses, admin and templates, which the other checks would load.
    requires_system_checks = (DEPLOYMENT,)
    help = "Runs the clock and the cluster of this host until SIGTERM. Any number of hosts may run on one database."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--processes", type=int, default=settings.WORKER_PROCESSES, help="Drain processes.")
        parser.add_argument("--clock", action=BooleanOptionalAction, default=True, help="Tick on this host.")

    def handle(self, *args: Any, **options: Any) -> None:
        self._said = ""
        share_one_heap()
        if settings.LOCAL_MODEL:
            self._keep_local_model()
        warm(provider_kinds())
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
