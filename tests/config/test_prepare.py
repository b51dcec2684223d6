"""`manage.py prepare`: one process that brings everything up to date before a start, and does nothing twice."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command

from agents.models import Agent
from config import staticfiles


def _said(*options: str) -> list[str]:
    out = StringIO()
    call_command("prepare", *options, stdout=out)
    return out.getvalue().splitlines()


@pytest.fixture(autouse=True)
def nothing_to_migrate(monkeypatch):
    """Migrating commits; the test database is migrated already."""
    monkeypatch.setattr("config.management.commands.prepare.call_command", lambda *args, **options: None)


def test_while_nobody_has_an_account_the_link_is_printed_with_the_address(db):
    said = _said("--no-static", "--address", "http://127.0.0.1:9000/")
    assert said[0] == "Make the first account here, once, within 24 hours:"
    assert said[1].startswith("http://127.0.0.1:9000/setup/")
    assert len(said[1].rsplit("/", 1)[1]) >= 32


def test_each_start_prints_a_new_link_until_somebody_used_one(db, make_user):
    assert _said("--no-static")[1] != _said("--no-static")[1]
    make_user(operator=True)
    assert _said("--no-static") == []


@pytest.mark.parametrize(("switched_on", "why_not", "kind"), [(True, None, "local"), (True, "no wheel", "demo"),
                                                              (False, None, "demo")])  # fmt: skip
def test_the_first_agent_uses_the_small_model_where_it_can_run(db, settings, monkeypatch, switched_on, why_not, kind):
    settings.LOCAL_MODEL = switched_on
    monkeypatch.setattr("agents.runtime.localmodel.available", lambda: why_not)
    for _ in range(2):
        _said("--no-static")
    assert [agent.model.provider.kind for agent in Agent.objects.select_related("model__provider")] == [kind]


@pytest.fixture
def sources(tmp_path, settings, monkeypatch):
    """A folder of one stylesheet as the only source of static files; collecting is counted, not done."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "product.css").write_text("body {}")
    settings.STATICFILES_DIRS = [folder]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()
    collected: list[str] = []
    monkeypatch.setattr(staticfiles, "call_command", lambda name, **options: collected.append(name))
    return folder, collected


def test_static_files_are_collected_once_and_again_when_one_changed(sources):
    folder, collected = sources
    assert staticfiles.collect_if_changed()
    assert not staticfiles.collect_if_changed()
    (folder / "product.css").write_text("body { color: black }")
    assert staticfiles.collect_if_changed()
    (folder / "more.css").write_text("")
    assert staticfiles.collect_if_changed()
    assert len(collected) == 3


def test_a_collection_that_was_cut_short_is_done_again(sources, monkeypatch):
    def broken(name, **options):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(staticfiles, "call_command", broken)
        with pytest.raises(OSError, match="disk full"):
            staticfiles.collect_if_changed()
    assert staticfiles.collect_if_changed()
