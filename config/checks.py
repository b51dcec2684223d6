"""System checks with ids: what would break at night is said at start-up. Run by every `manage.py` command.

`quotidian.W007` asks the database and runs with `migrate`, `check --database default` and `doctor` only.
"""

from __future__ import annotations

import itertools
import zoneinfo
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

DEPLOYMENT = "deployment"  # the tag of these checks
LONGEST_DEADLINE_SECONDS = 3_600
LEAST_PROCESSES = 2
MOST_PROCESSES_ON_SQLITE = 4
LEAST_ZONES = 400
SAMPLE_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")


def _rises(*rungs: tuple[str, float]) -> str:
    """Return what stands in the wrong order of a ladder of names and seconds, each to lie below the next."""
    for (low, a), (high, b) in itertools.pairwise(rungs):
        if not a < b:
            return f"{low} ({a:g} s) must be below {high} ({b:g} s)"
    return ""


@register(DEPLOYMENT)
def call_ladder(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """E001 (R26): connect < first token < deadline <= MAX_DEADLINE <= 1 h."""
    wrong = _rises(
        ("CONNECT_SECONDS", settings.CONNECT_SECONDS),
        ("FIRST_TOKEN_SECONDS", settings.FIRST_TOKEN_SECONDS),
        ("DEFAULT_DEADLINE_SECONDS", settings.DEFAULT_DEADLINE_SECONDS),
    )
    default, most = settings.DEFAULT_DEADLINE_SECONDS, settings.MAX_DEADLINE_SECONDS
    if not wrong and default > most:
        wrong = f"DEFAULT_DEADLINE_SECONDS ({default:g} s) must not exceed MAX_DEADLINE_SECONDS ({most:g} s)"
    if not wrong and most > LONGEST_DEADLINE_SECONDS:
        wrong = f"MAX_DEADLINE_SECONDS ({most:g} s) must not exceed {LONGEST_DEADLINE_SECONDS} s"
    return [Error(wrong, id="quotidian.E001")] if wrong else []


@register(DEPLOYMENT)
def lease_ladder(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """E002 (R26): a lease outlives three heartbeats, so that one lost beat loses no turn."""
    wrong = _rises(("3 x HEARTBEAT_SECONDS", 3 * settings.HEARTBEAT_SECONDS), ("LEASE_SECONDS", settings.LEASE_SECONDS))
    return [Error(wrong, id="quotidian.E002")] if wrong else []


@register(DEPLOYMENT)
def queue_ladder(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """E003 (R26): drain period + MAX_DEADLINE + 60 s < queue timeout < queue retry, else live drains are killed."""
    wrong = _rises(
        ("drain period + MAX_DEADLINE + 60", settings.DRAIN_PERIOD_SECONDS + settings.MAX_DEADLINE_SECONDS + 60),
        ("Q_CLUSTER timeout", settings.Q_CLUSTER.get("timeout") or float("inf")),
        ("Q_CLUSTER retry", settings.Q_CLUSTER.get("retry", 0)),
    )
    return [Error(wrong, id="quotidian.E003")] if wrong else []


@register(DEPLOYMENT)
def zone_data(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """E004: time zones can be computed on this machine."""
    lacking = [name for name in SAMPLE_ZONES if not _zone_loads(name)]
    if lacking or len(zoneinfo.available_timezones()) < LEAST_ZONES:
        line = f"time zone data is missing ({', '.join(lacking) or 'too few zones'})"
        return [Error(line, hint="Install the package tzdata of requirements/base.txt.", id="quotidian.E004")]
    return []


def _zone_loads(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


@register(DEPLOYMENT)
def worker_processes(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """E005 (R26): two processes at least, so that one takes over while another ends. W006: SQLite has one writer."""
    count = settings.Q_CLUSTER.get("workers", 0)
    if count < LEAST_PROCESSES:
        return [Error(f"WORKER_PROCESSES is {count}; {LEAST_PROCESSES} is the least", id="quotidian.E005")]
    if _on_sqlite() and count > MOST_PROCESSES_ON_SQLITE:
        line = f"WORKER_PROCESSES is {count} on SQLite, which has one writer; more than 4 wait for each other"
        hint = "Set WORKER_PROCESSES to 2, or DATABASE_URL to a PostgreSQL database."
        return [Warning(line, hint=hint, id="quotidian.W006")]
    return []


@register(Tags.database)
def demo_provider_in_production(
    app_configs: Any = None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """W007: in production nobody should be answered by the demo, which calls no model."""
    from django.db import connections

    from agents.models import Agent, ProviderKind

    if not settings.PRODUCTION or "default" not in (databases or ()):
        return []
    if Agent._meta.db_table not in connections["default"].introspection.table_names():
        return []
    answered = Agent.objects.filter(model__provider__kind=ProviderKind.DEMO, enabled=True, deleted_at=None)
    if not answered.exists():
        return []
    hint = "Give the agent another model (`manage.py add_provider`) or switch it off."
    return [Warning("An agent answers with the demo provider in production", hint=hint, id="quotidian.W007")]


@register(DEPLOYMENT)
def sqlite_locks_early(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """E008: on SQLite a transaction takes the write lock when it begins; it is the row lock of the whole product."""
    options = settings.DATABASES["default"].get("OPTIONS", {})
    if _on_sqlite() and options.get("transaction_mode") != "IMMEDIATE":
        return [Error("SQLite needs transaction_mode IMMEDIATE", id="quotidian.E008")]
    return []


def _on_sqlite() -> bool:
    return bool(settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"))
