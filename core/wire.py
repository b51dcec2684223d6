"""How values look on the wire."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, overload


@overload
def instant(at: datetime) -> str: ...
@overload
def instant(at: None) -> None: ...
def instant(at: datetime | None) -> str | None:
    """Return `at` as `2026-06-05T07:00:00Z` (RFC 3339, UTC); a fraction of a second is shown only when there is one."""
    if at is None:
        return None
    return at.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def plain(value: Any) -> Any:
    """Return a parameter of an error as JSON can hold it: instants as on the wire, decimals as text."""
    if isinstance(value, datetime):
        return instant(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    return str(value)


def pretty(value: Any) -> str:
    """Return `value` as JSON that people read: indented, letters as they are."""
    return json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n"
