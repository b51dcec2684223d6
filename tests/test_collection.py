"""Tests that exist on PostgreSQL only are left out elsewhere without being skipped or deselected, and named."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from tests import conftest

pytestmark = pytest.mark.filterwarnings("ignore:Overriding setting DATABASES")


@dataclass
class Item:
    """What the hook asks of a collected test."""

    nodeid: str
    marker: str = ""

    def get_closest_marker(self, name):
        return name == self.marker


@pytest.mark.parametrize(("engine", "kept"), [("sqlite3", ["everywhere"]), ("postgresql", ["there", "everywhere"])])
def test_what_is_marked_for_postgresql_is_collected_there_only(engine, kept, settings):
    settings.DATABASES = {"default": {"ENGINE": f"django.db.backends.{engine}"}}
    config = SimpleNamespace(stash=pytest.Stash())
    items = [Item("there", "postgres"), Item("everywhere")]
    conftest.pytest_collection_modifyitems(config, items)
    assert [item.nodeid for item in items] == kept
    lines: list[str] = []
    conftest.pytest_terminal_summary(SimpleNamespace(write_line=lines.append, getreports=lambda outcome: []), config)
    assert lines == ([] if engine == "postgresql" else ["on PostgreSQL only: there"])
