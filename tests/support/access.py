"""The kinds of cases of `tests/core/test_object_access.py`; each app lists its own in `tests/<app>/access_cases.py`.

A file there holds `CASES: dict[str, Case]`, keyed by method and route, as in `"GET projects/<str:id>"`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accounts.models import User


@dataclass(frozen=True)
class Theirs:
    """An address of one object: `make` builds it for an owner and returns the address below `/api/v1/`.

    Its owner is not answered 404, everybody else is. `body` is what a state change sends. `by_token` is false for an
    act that only a session may do: there every token is answered 403. `fires` is true for the act of fire tokens,
    which no other token may do.
    """

    make: Callable[[User], str]
    body: dict[str, Any] | None = None
    by_token: bool = True
    fires: bool = False


@dataclass(frozen=True)
class Listing:
    """An address that lists: `make` builds an object of an owner and returns the address and the object's id."""

    make: Callable[[User], tuple[str, str]]


@dataclass(frozen=True)
class Own:
    """An address that names no object: whoever asks, it is about them. `why` says so in words.

    `reads` is true for a POST that changes nothing.
    """

    why: str
    body: dict[str, Any] | None = None
    reads: bool = False


@dataclass(frozen=True)
class Operators:
    """An address for operators alone: whoever else asks is answered 403. `scope` is what a token of theirs needs."""

    why: str
    scope: str


Case = Theirs | Listing | Own | Operators
