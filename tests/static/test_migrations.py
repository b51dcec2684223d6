"""Models and migrations say the same, and each app has one newest migration."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db.migrations.loader import MigrationLoader

from tests.architecture.tree import APPS


@pytest.mark.django_db
def test_no_model_change_lacks_its_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("app", [app for app in APPS if app not in ("core", "config")])
def test_the_app_has_one_leaf_migration(app):
    assert apps.is_installed(app)
    assert len(MigrationLoader(None).graph.leaf_nodes(app)) == 1
