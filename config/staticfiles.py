"""Collects static files for the web server, and only when one of them changed: compressing them takes seconds."""

from __future__ import annotations

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

UNUSED = ["redoc", "rest_framework"]
"""Folders that packages bring and no page of ours asks for."""


def collect_if_changed() -> bool:
    """Collect into `STATIC_ROOT` unless what lies there was made from these very files; return whether it did."""
    mark = Path(settings.STATIC_ROOT) / ".collected"
    digest = _digest_of_sources()
    if mark.exists() and mark.read_text() == digest:
        return False
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=UNUSED)
    mark.write_text(digest)
    return True


def _digest_of_sources() -> str:
    digest = hashlib.sha256(repr((settings.STORAGES["staticfiles"], UNUSED)).encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            found = Path(storage.path(path)).stat()
            digest.update(f"{storage.path(path)} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()
