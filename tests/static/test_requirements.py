"""Requirements are pinned and hashed, name no place they came from, and cover what they were compiled from."""

from __future__ import annotations

import re

import pytest

from tests.architecture.tree import ROOT

FOLDER = ROOT / "requirements"
NAMES = ["base", "test", "local", "local-model"]
PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
WANTED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)")


def _entries(name: str) -> list[str]:
    """Return one text per requirement, its hashes included."""
    joined = (FOLDER / f"{name}.txt").read_text().replace("\\\n", " ")
    return [line for line in joined.splitlines() if line and not line.lstrip().startswith("#")]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", NAMES)
def test_every_requirement_is_pinned_and_hashed(name):
    entries = _entries(name)
    assert entries
    assert all(PIN.match(entry) and "--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("name", NAMES)
def test_no_address_path_or_index_option_stands_in_a_requirement_file(name):
    for suffix in ("in", "txt"):
        text = (FOLDER / f"{name}.{suffix}").read_text()
        assert not re.search(r"://|--index|--extra-index|--find-links|--trusted-host|\s@\s|file:|(?<!\w)/\w", text)


@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_file_covers_what_was_asked_for(name):
    asked = {
        _normal(m.group()) for line in (FOLDER / f"{name}.in").read_text().splitlines() if (m := WANTED.match(line))
    }
    assert asked <= {_normal(PIN.match(entry).group(1)) for entry in _entries(name)}


def test_tests_run_on_the_very_versions_that_the_product_ships():
    base = {m.group(1): m.group(2) for entry in _entries("base") if (m := PIN.match(entry))}
    test = {m.group(1): m.group(2) for entry in _entries("test") if (m := PIN.match(entry))}
    assert base.items() <= test.items()
