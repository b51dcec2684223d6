"""`manage.py doctor`: what an operator would ask about, in words; the exit code is 1 when something does not work."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from config.doctor import Finding, examine
from core import clock

MARKS = {"ok": "ok  ", "note": "note", "fail": "FAIL"}


class Command(BaseCommand):
    help = "Checks everything an operator would ask about."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            now = clock.now()
        except DatabaseError:
            now = clock.host_now()
        findings = examine(now)
        for finding in findings:
            self.stdout.write(self._line(finding))
        failures = sum(finding.level == "fail" for finding in findings)
        self.stdout.write("")
        if failures:
            self.stdout.write(f"{failures} of {len(findings)} need attention.")
            raise SystemExit(1)
        self.stdout.write("Everything works.")

    def _line(self, finding: Finding) -> str:
        style = {"ok": self.style.SUCCESS, "note": self.style.WARNING, "fail": self.style.ERROR}[finding.level]
        return f"{style(MARKS[finding.level])}  {finding.subject}: {finding.sentence}"
