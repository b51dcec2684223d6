"""The tree that the rules read: which files there are, and where the product ends and its surroundings begin."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ["core", "accounts", "projects", "agents", "chats", "schedules", "config"]
_NEVER = {
    ".venv", ".git", "var", "artifacts", "node_modules", "staticfiles",
    ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".import_linter_cache",
}  # fmt: skip


@cache
def files() -> tuple[Path, ...]:
    """Return every file of the tree that a commit holds or would hold, relative to the root."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0 and done.stdout:
        found = [Path(name) for name in done.stdout.split("\0") if name]
    else:  # an unpacked archive
        found = [path.relative_to(ROOT) for path in ROOT.rglob("*") if not _NEVER & set(path.relative_to(ROOT).parts)]
    return tuple(sorted(path for path in found if (ROOT / path).is_file() and "__pycache__" not in path.parts))


def python_files() -> list[Path]:
    """Return all Python of the tree: product, tests, benches and the programs in bin/; migrations are generated."""
    return [path for path in files() if path.suffix == ".py" and "migrations" not in path.parts]


def product_files() -> list[Path]:
    """Return the Python files of the apps, without migrations."""
    return [path for path in python_files() if path.parts[0] in APPS]
