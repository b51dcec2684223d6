"""Whether the server lives, and whether it can do its work."""

from __future__ import annotations

import logging

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from chats.selectors.health import CLOCK_SILENT_SECONDS, clock_age
from core.clock import now as clock_now
from core.errors import Refusal
from core.problems import problem_response

log = logging.getLogger(__name__)

_migrated = False


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 as long as this process answers at all."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 when the database answers, every migration is applied and a clock has ticked within 30 s, else 503."""
    checks = {"database": False, "migrations": False, "worker": False}
    try:
        connection.ensure_connection()
        checks["database"] = True
        checks["migrations"] = migrated()
        age = clock_age(clock_now()) if checks["migrations"] else None
        checks["worker"] = age is not None and age <= CLOCK_SILENT_SECONDS
    except DatabaseError:
        log.exception("the readiness check cannot read the database")
    if all(checks.values()):
        return JsonResponse({"status": "ready", "checks": checks})
    return problem_response(Refusal("not_ready", retry_after=5, checks=checks))


def migrated() -> bool:
    """Return whether every migration is applied; asked anew until it is, then remembered for this process."""
    global _migrated  # noqa: PLW0603
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return _migrated
