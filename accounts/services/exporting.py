"""Everything that a person has as one zip: JSON for machines, Markdown for people."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from io import BytesIO
from typing import IO

from accounts.models import User
from core.registry import exporters


def export_write(*, user: User, to: IO[bytes], now: datetime) -> int:
    """Write the zip into `to`, a file at a time; return how many files are in it. Reads only, in no transaction."""
    at = now.astimezone(UTC)
    stamp = (max(at.year, 1980), at.month, at.day, at.hour, at.minute, at.second)
    count = 0
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for export in exporters():
            for path, text in export(user):
                info = zipfile.ZipInfo(path, stamp)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, text)
                count += 1
    return count


def export_bytes(*, user: User, now: datetime) -> bytes:
    """Return the zip; nothing of it is kept anywhere."""
    file = BytesIO()
    export_write(user=user, to=file, now=now)
    return file.getvalue()
