"""What an operator would ask about a deployment, each question answered in one sentence.

Every examination is independent: one that breaks is a finding itself and hides no other.
"""

from __future__ import annotations

import os
import shutil
import stat
import zoneinfo
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Q

from accounts.models import User
from accounts.selectors.stops import global_stop
from agents.models import Agent, ModelProvider, ProviderKind
from agents.runtime import localmodel
from agents.selectors import provider_key
from chats import queue
from chats.selectors import health

LEAST_FREE_BYTES = 500_000_000
SECRETS = ("secret-key", "encryption-key")
KEYED = (ProviderKind.ANTHROPIC, ProviderKind.GOOGLE)


@dataclass(frozen=True)
class Finding:
    """One answer. `level` is `ok`, `note` (worth knowing) or `fail` (something does not work)."""

    level: str
    subject: str
    sentence: str


def ok(subject: str, sentence: str) -> Finding:
    return Finding("ok", subject, sentence)


def note(subject: str, sentence: str) -> Finding:
    return Finding("note", subject, sentence)


def fail(subject: str, sentence: str) -> Finding:
    return Finding("fail", subject, sentence)


def database(now: datetime) -> Iterator[Finding]:
    """Does the database answer, and which is it?"""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    version = ".".join(map(str, connection.get_database_version()))
    yield ok("database", f"{connection.display_name} {version} answers")


def migrations(now: datetime) -> Iterator[Finding]:
    """Are all tables up to date?"""
    executor = MigrationExecutor(connection)
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if waiting:
        yield fail("migrations", f"{len(waiting)} not applied: run `manage.py migrate`")
    else:
        yield ok("migrations", "all applied")


def system_checks(now: datetime) -> Iterator[Finding]:
    """Do Django's checks and ours (timeouts, zones, processes, security in production) pass?"""
    found = checks.run_checks(include_deployment_checks=settings.PRODUCTION, databases=["default"])
    serious = [message for message in found if not message.is_silenced()]
    for message in serious:
        level = "fail" if message.is_serious() else "note"
        yield Finding(
            level, "settings", f"{message.id}: {message.msg}" + (f" ({message.hint})" if message.hint else "")
        )
    if not serious:
        yield ok("settings", "every system check passes")


def broker(now: datetime) -> Iterator[Finding]:
    """Does the queue of hints answer?"""
    kind = "Redis" if "redis" in settings.Q_CLUSTER else "the database"
    waiting = queue.waiting_hints()
    if waiting is None:
        yield fail("broker", f"{kind} as the broker does not answer; runs start up to 5 s late without it")
    else:
        yield ok("broker", f"{kind} answers, {waiting} hints wait")


def data_folder(now: datetime) -> Iterator[Finding]:
    """Can the server write where it keeps things, is there room, and are its secrets private?"""
    folder = Path(settings.DATA_DIR)
    if not os.access(folder, os.W_OK | os.X_OK):
        yield fail("data folder", f"{folder} cannot be written")
        return
    free = shutil.disk_usage(folder).free
    enough = free >= LEAST_FREE_BYTES
    yield Finding("ok" if enough else "fail", "data folder", f"{folder}, {free // 1_000_000} MB free")
    for name in SECRETS:
        path = folder / name
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield fail("secrets", f"{path} can be read by others: run `chmod 600 {path}`")


def zones(now: datetime) -> Iterator[Finding]:
    """Which time zone data is used?"""
    yield ok("zone data", f"{len(zoneinfo.available_timezones())} zones, tzdata {metadata.version('tzdata')}")


def clock(now: datetime) -> Iterator[Finding]:
    """Has a clock ticked lately, so that what falls due is noticed?"""
    age = health.clock_age(now)
    if age is None:
        yield fail("clock", "no worker has run yet: start `manage.py worker`")
    elif age > health.CLOCK_SILENT_SECONDS:
        yield fail("clock", f"no clock ticked for {age:.0f} s: start `manage.py worker`; what fell due meanwhile waits")
    else:
        yield ok("clock", f"ticked {age:.0f} s ago")


def drains(now: datetime) -> Iterator[Finding]:
    """Is queued work being taken?"""
    if not health.drains_needed(now, older_than=health.DRAIN_SILENT_SECONDS):
        yield ok("drains", "nothing that may run waits for longer than a minute")
        return
    age = health.drain_age(now)
    since = "never" if age is None else f"{age:.0f} s ago"
    if age is None or age > health.DRAIN_SILENT_SECONDS:
        yield fail("drains", f"turns wait and no drain lives (last sign of life: {since})")
    else:
        yield note("drains", f"turns wait for a free place (last sign of life: {since})")


def stop(now: datetime) -> Iterator[Finding]:
    """Is everything on hold?"""
    found = global_stop()
    if found is not None:
        yield note("global stop", f"is on: {found.reason or 'no reason given'}")


def local_model(now: datetime) -> Iterator[Finding]:
    """Can the small local model answer, where an agent needs it?"""
    needed = _agents_on(ProviderKind.LOCAL)
    if not settings.LOCAL_MODEL:
        level, why = ("fail" if needed else "note"), "is switched off (LOCAL_MODEL)"
    elif reason := localmodel.available():
        level, why = ("fail" if needed else "note"), reason
    elif localmodel.endpoint(settings.DATA_DIR) is None:
        level, why = "note", "can run here; the worker starts it, and it does not run now"
    else:
        level, why = "ok", "runs"
    yield Finding(level, "local model", why)


def providers(now: datetime) -> Iterator[Finding]:
    """Is there a model to ask, and has every provider that needs a key its key?"""
    enabled = ModelProvider.objects.filter(enabled=True, deleted_at=None)
    for provider in enabled:
        named = f"its key is expected in {provider.key_env}, which is not set" if provider.key_env else "it has no key"
        if (provider.kind in KEYED or provider.key_env) and not provider_key(provider):
            yield fail("providers", f"{provider.name}: {named}")
    if not enabled.exists():
        yield fail("providers", "there is none: run `manage.py add_provider`")
    elif _agents_on(ProviderKind.DEMO):
        yield note("providers", "an agent answers with the demo, which asks no model")
    else:
        yield ok("providers", ", ".join(enabled.values_list("name", flat=True)))


def _agents_on(kind: ProviderKind) -> bool:
    return Agent.objects.filter(Q(model__provider__kind=kind), enabled=True, deleted_at=None).exists()


def static_files(now: datetime) -> Iterator[Finding]:
    """Can pages find their styles and scripts?"""
    if (Path(settings.STATIC_ROOT) / "staticfiles.json").exists():
        yield ok("static files", f"collected in {settings.STATIC_ROOT}")
    else:
        yield fail("static files", "not collected: run `manage.py prepare`")


def people(now: datetime) -> Iterator[Finding]:
    """Is there anybody who may operate?"""
    if User.objects.filter(is_staff=True, is_active=True).exists():
        yield ok("operators", "at least one account may open the admin")
    else:
        yield fail("operators", "none yet: open the set-up link (`manage.py prepare` prints one)")


Examination = Callable[[datetime], Iterator[Finding]]
FIRST: list[Examination] = [database, migrations]
WITHOUT_TABLES: list[Examination] = [data_folder, zones, static_files]
WITH_TABLES: list[Examination] = [system_checks, broker, clock, drains, stop, local_model, providers, people]


def examine(now: datetime) -> list[Finding]:
    """Return every finding; without a usable database only what needs no table is examined."""
    findings = [finding for examination in FIRST for finding in _safely(examination, now)]
    usable = all(finding.level != "fail" for finding in findings)
    for examination in [*WITHOUT_TABLES, *(WITH_TABLES if usable else [])]:
        findings += _safely(examination, now)
    return findings


def _safely(examination: Examination, now: datetime) -> list[Finding]:
    """An examination that raises is a failure with its own words."""
    try:
        return list(examination(now))
    except Exception as error:  # noqa: BLE001 - whatever breaks is what the operator asked about
        first_line = (str(error).strip() or repr(error)).splitlines()[0]
        return [fail(examination.__name__.replace("_", " "), f"could not be examined: {first_line}")]
