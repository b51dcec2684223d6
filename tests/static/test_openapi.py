"""The committed OpenAPI schema is the one that the code gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from tests.architecture.tree import ROOT


@pytest.mark.django_db
def test_the_committed_schema_is_what_the_code_gives(tmp_path: Path):
    fresh = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(fresh), validate=True, fail_on_warn=True)
    assert fresh.read_text() == (ROOT / "docs/openapi.yaml").read_text(), "run `manage.py docs`"
