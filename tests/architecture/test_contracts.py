"""The import contracts hold, and each is seen to catch the import planted against it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import APPS, ROOT

PLANTED = {
    "apps": ("core/planted.py", "import accounts.models", "core.planted -> accounts.models"),
    "rooms": ("chats/models.py", "import chats.services.planted", "chats.models -> chats.services.planted"),
    "domain": ("schedules/domain/planted.py", "import django.db", "schedules.domain.planted -> django"),
    "lifecycle": ("chats/engine/planted.py", "import chats.lifecycle", "chats.engine.planted -> chats.lifecycle"),
    "django_q": ("schedules/services/planted.py", "import django_q.tasks", "schedules.services.planted -> django_q"),
    "pydantic_ai": ("chats/engine/planted.py", "import pydantic_ai", "chats.engine.planted -> pydantic_ai"),
}


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the linter says of a copy of the product in which every contract is broken once."""
    copy = tmp_path_factory.mktemp("product")
    for app in APPS:
        shutil.copytree(ROOT / app, copy / app, ignore=shutil.ignore_patterns("__pycache__", "migrations"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "chats/services").mkdir(exist_ok=True)
    for name in ("chats/services/__init__.py", "chats/services/planted.py"):
        (copy / name).touch()
    for path, line, _ in PLANTED.values():
        with (copy / path).open("a") as out:
            out.write(f"\n{line}\n")
    done = _lint(copy)
    assert done.returncode == 1, done.stdout
    return done.stdout


def test_every_contract_is_kept():
    done = _lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("contract", PLANTED)
def test_a_planted_import_breaks_its_contract(contract, planted):
    assert PLANTED[contract][2] in planted
