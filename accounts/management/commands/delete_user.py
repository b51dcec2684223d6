"""`manage.py delete_user EMAIL [--now] [--yes] [--keep-usage]` (A7)."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.domain.deletion import ENDED, DeletionState
from accounts.models import DeletionRequest
from accounts.selectors.deletions import what_goes
from accounts.selectors.users import user_named
from accounts.services.deletion import deletion_hasten, deletion_request
from accounts.services.erasing import deletion_advance
from core.clock import monotonic, now
from core.commands import ProductCommand

PAUSE = 0.5


class Command(ProductCommand):
    help = "Delete an account with all that is its owner's. Until it commits it can be called off."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--now", action="store_true", help="Without a grace, and carried through before this ends.")
        parser.add_argument(
            "--yes", action="count", default=0, help="Ask nothing. Twice: also where nobody is left to operate."
        )
        parser.add_argument("--keep-usage", action="store_true", help="Figures of usage stay, without the person.")
        parser.add_argument(
            "--wait", type=float, default=60.0, metavar="SECONDS", help="With --now: how long at most (60)."
        )

    def act(self, **options: Any) -> str:
        user = user_named(options["email"])
        if not options["yes"]:
            self._confirmed(options["email"], what_goes(user.pk))
        grace = timedelta(0) if options["now"] else None
        request = deletion_request(
            user=user,
            actor=None,
            grace=grace,
            keep_usage=options["keep_usage"],
            even_last=options["yes"] > 1,
            now=now(),
        )
        if not options["now"]:
            return f"{request.state} until {request.not_before:%Y-%m-%dT%H:%M:%SZ}"
        deletion_hasten(user=user, actor=None, now=now())
        return self._carried_through(request, options["wait"])

    def _confirmed(self, email: str, goes: dict[str, int]) -> None:
        if not sys.stdin.isatty():
            raise CommandError("Nobody is here to confirm: use --yes.")
        self.stderr.write(", ".join(f"{name}: {number}" for name, number in goes.items()))
        if input(f"Type {email} to delete the account: ").strip() != email:
            raise CommandError("Nothing was done.")

    def _carried_through(self, request: DeletionRequest, seconds: float) -> str:
        """Take each step as the sweep would, and print every state as it is reached."""
        end, shown = monotonic() + seconds, ""
        while True:
            state = DeletionRequest.objects.values_list("state", flat=True).get(pk=request.pk)
            if state in ENDED:
                break
            if state != shown:
                self.stdout.write(state)
                shown = state
            if not deletion_advance(request_id=request.pk, now=now()):
                if monotonic() > end:
                    raise CommandError(f"Still {state}: {self._why(request)}. The worker's clock goes on with it.")
                time.sleep(PAUSE)
        if state == DeletionState.CANCELLED:
            raise CommandError(f"cancelled: {self._why(request)}")
        return str(state)

    def _why(self, request: DeletionRequest) -> str:
        request.refresh_from_db()
        waits = request.progress.get("waits", {})
        return request.error or ", ".join(f"{name}: {n}" for name, n in waits.items()) or "not finished yet"
