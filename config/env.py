"""Typed reading of the environment: the only module that looks at `os.environ`.

Every variable is declared in `VARIABLES` with its type, default and one sentence; `docs/settings.md` is compared with
that table by a test. A name with `_FILE` appended names a file that holds the value (for secrets).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
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


def amount(value: str) -> Decimal:
    if not re.fullmatch(r"\d{1,7}(\.\d{1,2})?", value.strip(), re.ASCII):
        raise ValueError("an amount such as 5 or 12.50")
    return Decimal(value.strip())


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
        Variable("SIGN_UP", boolean, False, "On: whoever reaches the sign-in page may make an account. Off: operators make them."),
        Variable("EMAIL_URL", text, "", "`smtp://user:password@host:587` (STARTTLS), `smtps://...:465` (TLS) or `smtp+plain://...`. Unset: mails are written to the log."),
        Variable("EMAIL_FROM", text, "Quotidian <quotidian@localhost>", "Sender of mails."),
        Variable("TRUSTED_PROXIES", whole(0, 10), 0, "Proxies in front that add to `X-Forwarded-For`; the limits of sign-in count the address they name."),
        Variable("GLOBAL_STOP", boolean, False, "On: nothing starts that no person started, whatever the admin switch says."),
        Variable("GLOBAL_STOP_REASON", text, "", "The reason shown with it."),
        Variable("MAX_CONCURRENT_TURNS", whole(1, 100_000), 100, "Model calls at once in the whole deployment (R24)."),
        Variable("MAX_CONCURRENT_PER_OWNER", whole(1, 100_000), 5, "Scheduled model calls at once of one owner (R24)."),
        Variable("MAX_INTERACTIVE_TURNS", whole(1, 10_000), 50, "Lane of turns that a person waits for, taken by nobody else."),
        Variable("MAX_DEADLINE_SECONDS", whole(60, 3_600), 3_600, "Longest deadline of a turn (R26)."),
        Variable("SCHEDULE_SPREAD_SECONDS", whole(0, 120), 0, "Spreads occurrences of one instant over so many seconds (C8)."),
        Variable("DELETION_GRACE_DAYS", whole(0, 365), 7, "Days until an account whose deletion was asked for is erased; 0 erases at once."),
        Variable("STARTING_CREDIT", amount, Decimal(0), "Credit that a new account is given; with it the balance binds what is spent. 0 gives none and binds nobody."),
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
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
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


def mail(url: str) -> dict[str, Any]:
    """Return Django's settings for sending mail by `url`; written to the log when it is empty."""
    parsed = urlparse(url)
    ports = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
    if url and (parsed.scheme not in ports or not parsed.hostname):
        raise EnvError("EMAIL_URL must begin with smtp://, smtps:// or smtp+plain:// and name a host")
    return {
        "EMAIL_BACKEND": f"django.core.mail.backends.{'smtp' if url else 'console'}.EmailBackend",
        "EMAIL_HOST": parsed.hostname or "localhost",
        "EMAIL_PORT": parsed.port or ports.get(parsed.scheme, 25),
        "EMAIL_HOST_USER": unquote(parsed.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parsed.password or ""),
        "EMAIL_USE_TLS": parsed.scheme == "smtp",
        "EMAIL_USE_SSL": parsed.scheme == "smtps",
    }
