"""Documentation that is made from code says what the code says, and every error code is real and in use."""

from __future__ import annotations

import ast
import re

import pytest
from django.conf import global_settings

from config import env, reference
from core.errors import CATALOGUE
from tests.architecture.tree import ROOT, files, product_files

ONLY_SORTS = ("core/errors.py", "schedules/domain/outcome.py")
"""Files that name codes without ever giving one as a reason."""

NAMED_IN_CALLS = {"Refusal": 0, "at": 1, "FieldError": 1, "sentence": 0}
"""Calls that take a code, and the position at which it stands."""


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_page_is_what_the_code_says(name):
    assert (ROOT / "docs" / name).read_text() == reference.PAGES[name](), "run `manage.py docs`"


def _constants() -> set[str]:
    """Return every text constant of the product but those of tables, and every word of the templates and scripts."""
    found = set()
    for path in product_files():
        if str(path) not in ONLY_SORTS:
            tree = ast.parse((ROOT / path).read_text())
            found |= {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    for path in files():
        if path.parts[0] in ("templates", "static") and path.suffix in (".html", ".js", ".txt"):
            found |= set(re.findall(r"\b[a-z_]+\b", (ROOT / path).read_text()))
    return found


def test_no_code_of_the_table_is_unused():
    assert sorted(set(CATALOGUE) - _constants()) == []


def _codes_named(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        values = [part.value for part in node.keywords if part.arg in ("reason", "code")]
        takes_code = name != "at" or getattr(getattr(node.func, "value", None), "id", "") == "Refusal"
        if name in NAMED_IN_CALLS and takes_code and len(node.args) > NAMED_IN_CALLS[name]:
            values.append(node.args[NAMED_IN_CALLS[name]])
        found |= {v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str) and v.value}
    return found


def test_every_code_that_the_product_names_is_in_the_table():
    named = {
        (code, str(path)) for path in product_files() for code in _codes_named(ast.parse((ROOT / path).read_text()))
    }
    assert sorted(pair for pair in named if pair[0] not in CATALOGUE) == []


def test_a_code_that_is_named_and_unknown_would_be_seen():
    assert _codes_named(ast.parse("Refusal('nonsense'); Refusal.at('a', 'b'); f(reason='c'); x.at(1, 2)")) == {
        "nonsense",
        "b",
        "c",
    }


def test_every_variable_that_the_product_reads_is_declared():
    read = re.compile(r"env\.read\(\"([A-Z_]+)\"\)")
    named = {name for path in product_files() for name in read.findall((ROOT / path).read_text())}
    assert named <= set(env.VARIABLES)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _settings_made_of(variable: str, settings: ast.Module) -> set[str]:
    """Return the settings that `variable` decides, also through other settings and conditions."""
    reached: set[str] = set()
    while True:
        found = {
            name
            for part in settings.body
            if any(isinstance(n, ast.Constant) and n.value == variable for n in ast.walk(part))
            or _names(part, ast.Load) & reached
            for name in _names(part, ast.Store)
        }
        if found <= reached:
            return reached
        reached |= found


def _is_read(setting: str, sources: str) -> bool:
    read_by_framework = hasattr(global_settings, setting)
    return read_by_framework or re.search(rf"\bsettings\.{setting}\b|\"{setting}\"", sources) is not None


@pytest.mark.parametrize("name", sorted(env.VARIABLES))
def test_every_declared_variable_is_read_somewhere(name):
    """It, or a setting made of it, is read outside the settings: by the product or by the framework."""
    made = _settings_made_of(name, ast.parse((ROOT / "config/settings.py").read_text()))
    paths = [path for path in product_files() if str(path) not in ("config/env.py", "config/settings.py")]
    sources = "\n".join((ROOT / path).read_text() for path in paths)
    assert f'"{name}"' in sources or any(_is_read(setting, sources) for setting in made)


def test_a_variable_that_only_the_settings_know_would_be_seen():
    settings = ast.parse('ODD = env.read("ODD")\nif ODD:\n    EVEN = 1\nDEBUG = env.read("ON")')
    assert _settings_made_of("ODD", settings) == {"ODD", "EVEN"}
    assert not any(_is_read(setting, "settings.OTHER") for setting in ("ODD", "EVEN"))
    assert _is_read("DEBUG", "")
