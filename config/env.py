"""Typed reading of the environment: the only module that looks at `os.environ`.

Every variable is declared in `VARIABLES` with its type, default and one sentence; `docs/settings.md` is compared with
that table by a test. A name with `_FILE` appended names a file that holds the value (for secrets).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlparse


class EnvError(SystemExit):
    """A value that cannot be used: the process ends with one line that says what to set."""

    def __init__(self, line: str) -> None:
        super().__init__(f"quotidian: {line}")


@dataclass(frozen=True)
class Variable:
    """One environment variable: `parse` raises ValueError with what it expected."""

    name: str
    parse: Callable[[str], Any]
    default: Any
    about: str


def text(value: str) -> str:
    return value


def boolean(value: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if value.strip().lower() not in known:
        raise ValueError("on or off")
    return known[value.strip().lower()]


def whole(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        number = int(value) if value.strip().lstrip("-").isdigit() else None
        if number is None or not least <= number <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return number

    return parse


def names(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]


def environment_name(value: str) -> str:
    if value not in ("development", "production"):
        raise ValueError("development or production")
    return value


VARIABLES: dict[str, Variable] = {
    v.name: v
    for v in (
        Variable("APP_ENV", environment_name, "development", "development or production. Production refuses to start without SECRET_KEY, ALLOWED_HOSTS and DATABASE_URL."),
        Variable("QUOTIDIAN_DATA_DIR", text, "", "Folder of everything the server keeps: database, generated secret, files. Default `var/` in the checkout."),
        Variable("SECRET_KEY", text, "", "Signs sessions. Generated into the data folder when unset in development."),
        Variable("ENCRYPTION_KEY", text, "", "Encrypts provider keys at rest. Generated into the data folder (mode 0600) when unset."),
        Variable("ALLOWED_HOSTS", names, [], "Comma-separated host names the server answers to. Loopback only when unset."),
        Variable("CSRF_TRUSTED_ORIGINS", names, [], "Comma-separated origins (with scheme) behind a proxy."),
        Variable("DATABASE_URL", text, "", "`postgres://user:password@host:port/name` or `sqlite:///path`. SQLite in the data folder when unset."),
        Variable("REDIS_URL", text, "", "Redis as the broker of hints instead of the database."),
        Variable("GLOBAL_STOP", boolean, False, "On: nothing starts that no person started, whatever the admin switch says."),
        Variable("GLOBAL_STOP_REASON", text, "", "The reason shown with it."),
        Variable("MAX_CONCURRENT_TURNS", whole(1, 100_000), 100, "Model calls at once in the whole deployment (R24)."),
        Variable("MAX_CONCURRENT_PER_OWNER", whole(1, 100_000), 5, "Scheduled model calls at once of one owner (R24)."),
        Variable("MAX_INTERACTIVE_TURNS", whole(1, 10_000), 50, "Lane of turns that a person waits for, taken by nobody else."),
        Variable("MAX_DEADLINE_SECONDS", whole(60, 3_600), 3_600, "Longest deadline of a turn (R26)."),
        Variable("SCHEDULE_SPREAD_SECONDS", whole(0, 120), 0, "Spreads occurrences of one instant over so many seconds (C8)."),
        Variable("RUN_RETENTION_DAYS", whole(0, 100_000), 365, "Settled runs are removed after so many days; 0 keeps them."),
        Variable("WORKER_PROCESSES", whole(2, 64), 2, "Drain processes per worker host (R26: two at least)."),
        Variable("FIRE_SECONDS", whole(0, 86_400), 60, "Seconds between two runs that one fire token may start."),
        Variable("DRAIN_SECONDS", whole(5, 600), 25, "How long running turns may finish after SIGTERM (R30)."),
        Variable("LOCAL_MODEL", boolean, True, "Off: the worker does not start the small local model."),
        Variable("LOCAL_MODEL_LOG", text, "", "File to which the local model's server writes each completion it gave, for audits and tests."),
        Variable("FRAME_ANCESTORS", names, [], "Comma-separated origins that may show the pages in a frame (a browser's side panel). Nobody when unset."),
        Variable("API_REQUESTS_PER_MINUTE", whole(1, 1_000_000), 6_000, "Requests a minute of one token, or of one person by session; beyond it 429."),
        Variable("LOG_LEVEL", text, "INFO", "Least level that is logged."),
    )
}  # fmt: skip


def read(name: str) -> Any:
    """Return the parsed value of a declared variable, from `NAME`, the file in `NAME_FILE`, or its default.

    Raises EnvError with one line when the value cannot be parsed or the file cannot be read.
    """
    variable = VARIABLES[name]
    raw = os.environ.get(name)
    if raw is None and os.environ.get(f"{name}_FILE"):
        try:
            raw = Path(os.environ[f"{name}_FILE"]).read_text().strip()
        except OSError as error:
            raise EnvError(f"{name}_FILE cannot be read: {error.strerror}") from error
    if raw is None or raw == "":
        return variable.default
    try:
        return variable.parse(raw)
    except ValueError as error:
        raise EnvError(f"{name} must be {error}, not {raw!r}") from error


def raw(name: str) -> str:
    """Return any variable as it stands: for provider keys that an operator names (`key_env`)."""
    return os.environ.get(name, "")


def database(url: str, data_dir: Path) -> dict[str, Any]:
    """Return Django's settings for `url`; SQLite in the data folder when it is empty."""
    parsed = urlparse(url)
    if not url or parsed.scheme == "sqlite":
        path = Path(unquote(parsed.path)[1:] if url else data_dir / "quotidian.sqlite3")
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(path),
            "CONN_MAX_AGE": 0,
            "OPTIONS": {
                "timeout": 20,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
            "TEST": {"NAME": str(path.with_name("test-" + path.name))},
        }
    if parsed.scheme not in ("postgres", "postgresql"):
        raise EnvError("DATABASE_URL must begin with postgres:// or sqlite:///")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parsed.path.lstrip("/")),
        "USER": unquote(parsed.username or ""),
        "PASSWORD": unquote(parsed.password or ""),
        "HOST": parsed.hostname or "",
        "PORT": str(parsed.port or ""),
        # A request of the ASGI server has a thread of its own: a connection kept for longer would serve nobody else.
        "CONN_MAX_AGE": 0,
        "OPTIONS": dict(parse_qsl(parsed.query)),
    }
