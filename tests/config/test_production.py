"""Production starts only when it is told what it needs, and then passes every check for deployments."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.architecture.tree import ROOT

WHOLE = {
    "APP_ENV": "production",
    "SECRET_KEY": "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "ALLOWED_HOSTS": "chat.example.com",
    "DATABASE_URL": "postgres://quotidian@127.0.0.1:5432/quotidian",
}


def _manage(tmp_path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={**kept, "QUOTIDIAN_DATA_DIR": str(tmp_path), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_checks_for_deployments_are_clean(tmp_path):
    done = _manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **WHOLE)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize("missing", ["SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL"])
def test_without_one_of_three_variables_the_start_ends_with_one_line_that_names_it(missing, tmp_path):
    environ = {name: value for name, value in WHOLE.items() if name != missing}
    done = _manage(tmp_path, "check", **environ)
    assert done.returncode != 0
    assert done.stderr == f"quotidian: set {missing}: APP_ENV=production does not start without it\n"


def test_a_secret_may_come_from_a_file(tmp_path):
    file = tmp_path / "key"
    file.write_text(WHOLE["SECRET_KEY"] + "\n")
    environ = {name: value for name, value in WHOLE.items() if name != "SECRET_KEY"}
    assert _manage(tmp_path, "check", **environ, SECRET_KEY_FILE=str(file)).returncode == 0


def test_a_value_that_cannot_be_used_ends_the_start_with_one_line(tmp_path):
    done = _manage(tmp_path, "check", WORKER_PROCESSES="many")
    assert done.stderr == "quotidian: WORKER_PROCESSES must be a whole number from 2 to 64, not 'many'\n"
