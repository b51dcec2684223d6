"""JSON as the API reads it: one object, no duplicate keys, no NaN, nothing that a database cannot store."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from core.errors import Refusal

MOST_BYTES = 4 * 1024 * 1024
MOST_DEPTH = 40


def _unreadable() -> Refusal:
    return Refusal("body_unreadable", expected="a JSON object")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON (RFC 8259)")


def _check(value: Any, depth: int = 0) -> None:
    """Raise ValueError for lone surrogates (no UTF-8 form) and for nesting deeper than any body here has."""
    if depth > MOST_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, dict):
        for key, part in value.items():
            key.encode()
            _check(part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            _check(part, depth + 1)


def loads(text: str | bytes) -> Any:
    """Parse strictly. Raises Refusal `body_unreadable` for duplicate keys, NaN, infinity, lone surrogates."""
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        value = json.loads(decoded, object_pairs_hook=_object, parse_float=_finite, parse_constant=_constant)
        _check(value)
    except (ValueError, RecursionError) as error:
        raise _unreadable() from error
    return value


class StrictJSONParser(BaseParser):
    """The API's only parser: the body must be one JSON object of at most 4 MiB."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        raw = stream.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise _unreadable()
        value = loads(raw)
        if not isinstance(value, dict):
            raise _unreadable()
        return value
