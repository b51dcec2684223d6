"""No secret and no private place lies in the tree. Each pattern is seen to match what it is for."""

from __future__ import annotations

import re

import pytest

from tests.architecture.tree import ROOT, files

# Each is written so that it does not match itself.
PATTERNS = {
    "private key": r"-----BEGIN (?:[A-Z]+ )?PRIVATE[ ]KEY-----",
    "provider key": r"\b(?:sk|pk|rk)-(?:ant-|proj-|live_)?[A-Za-z0-9_-]{32,}",
    "google key": r"\bAIza[0-9A-Za-z_-]{35}",
    "cloud key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "hosting token": r"\b(?:ghp|gho|ghs|glpat|npm|pypi)[_-][A-Za-z0-9_-]{30,}",
    "chat token": r"\bxox[abpr]-[0-9A-Za-z-]{20,}",
    "password in an address": r"\b[a-z][a-z0-9+.-]*://[^\s/:@{}$<>\"']+:[^\s/:@{}$<>\"']{3,}@(?=[\w-]+\.)(?![\w.-]*\bexample\b)",
}
EXAMPLES = {
    "private key": "-----BEGIN RSA PRIVATE" + " KEY-----",
    "provider key": "sk-" + "proj-" + "a1B2" * 10,
    "google key": "AI" + "za" + "x" * 35,
    "cloud key": "AK" + "IA" + "ABCDEFGH12345678",
    "hosting token": "gh" + "p_" + "a" * 36,
    "chat token": "xo" + "xb-" + "1" * 24,
    "password in an address": "postgres://quotidian:" + "hunter22" + "@db.internal/quotidian",
}
NEVER_COMMITTED = re.compile(r"(^|/)(\.env|secret-key|encryption-key|.*\.sqlite3|.*\.pem|.*\.p12|id_rsa.*)$")
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:wo" r"rk|ro" r"ot|home/[a-z]+)/")


def _texts() -> list[tuple[str, str]]:
    found = []
    for path in files():
        try:
            found.append((str(path), (ROOT / path).read_text()))
        except UnicodeDecodeError:
            continue
    return found


@pytest.mark.parametrize("what", PATTERNS)
def test_the_tree_holds_none_of_these(what):
    pattern = re.compile(PATTERNS[what])
    found = [f"{path}: {match.group()[:12]}..." for path, text in _texts() for match in pattern.finditer(text)]
    assert not found


@pytest.mark.parametrize("what", PATTERNS)
def test_a_planted_secret_is_found(what):
    assert re.search(PATTERNS[what], f"key = '{EXAMPLES[what]}'")


def test_no_kept_file_of_a_server_lies_in_the_tree():
    assert not [str(path) for path in files() if NEVER_COMMITTED.search(str(path))]


def test_no_file_names_a_folder_of_one_machine():
    assert not [path for path, text in _texts() if MACHINE_PATHS.search(text)]
