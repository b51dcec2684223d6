"""Every link of the documentation leads to a file that is there."""

from __future__ import annotations

import re

import pytest

from tests.architecture.tree import ROOT, files

PAGES = [path for path in files() if path.suffix == ".md" and path.parts[0] in ("README.md", "ARCHITECTURE.md", "docs")]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("document", PAGES, ids=str)
def test_no_link_of_the_document_is_dead(document):
    targets = LINK.findall((ROOT / document).read_text())
    assert [target for target in targets if not (ROOT / document.parent / target).exists()] == []
