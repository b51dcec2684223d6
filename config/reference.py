"""Pages of `docs/` that are made from the code's own tables, so that they cannot say anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from config import env
from core.errors import CATALOGUE, Entry

_KINDS = {
    "input": ("What was sent", "A field needs another value. Nothing was stored."),
    "policy": ("Who may", "The caller, or somebody's rule, decides; sending the same again changes nothing."),
    "conflict": ("Conflicts", "The state is another one than the caller thought."),
    "transient": ("Not now", "The same request works later; `Retry-After` says when."),
    "internal": ("On our side", "Recorded for the operator."),
    "outcome": ("Reasons of the ledger", "Why a run did not run or how it ended, and why a schedule is blocked."),
    "notice": ("Notes", "Said beside something that works: in previews and notifications."),
}
_ADVICE = "<!-- Written by `manage.py docs`; a test compares. Edit {source} instead. -->\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines) + "\n"


def errors_page() -> str:
    """Return `docs/errors.md`: every code with its HTTP status, whether a retry helps, and its sentence."""
    parts = [
        "# Errors and reasons\n",
        _ADVICE.format(source="`core/errors.py`"),
        "One table serves the API, the pages, the ledger and the notifications. An API error is a problem document "
        "(RFC 9457) whose `code` is one of these; `detail` is the sentence, `params` fill the names in braces. "
        "A code of the ledger stands in `reason` of a run and in `blocked_reason` of a schedule.\n",
    ]
    for kind, (title, about) in _KINDS.items():
        entries = [entry for entry in CATALOGUE.values() if entry.kind == kind]
        parts += [f"## {title}\n", f"{about}\n", _table(["code", "status", "retry", "sentence"], _error_rows(entries))]
    return "\n".join(parts)


def _error_rows(entries: list[Entry]) -> list[list[str]]:
    return [[f"`{e.code}`", str(e.status), "yes" if e.retryable else "no", e.sentence] for e in entries]


def settings_page() -> str:
    """Return `docs/settings.md`: every variable with its default and one sentence."""
    rows = [[f"`{v.name}`", _default(v.default), v.about] for v in env.VARIABLES.values()]
    return "\n".join(
        [
            "# Settings\n",
            _ADVICE.format(source="`config/env.py`"),
            "Everything is set by environment variables, and everything has a default: with none of them Quotidian "
            "runs on SQLite in `var/`. A name with `_FILE` appended names a file that holds the value, for secrets. "
            "A value that cannot be used stops the start with one line that says what to set.\n",
            _table(["variable", "default", "what it does"], rows),
        ]
    )


def _default(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"`{value}`" if value not in ("", []) else "none"


PAGES: dict[str, Callable[[], str]] = {"errors.md": errors_page, "settings.md": settings_page}


def write(folder: Path) -> list[Path]:
    """Write every page into `folder`; return those that changed."""
    changed = []
    for name, page in PAGES.items():
        path, text = folder / name, page()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            changed.append(path)
    return changed
