"""What is wrong with a form, for its template."""

from __future__ import annotations

from core.errors import Refusal
from core.human import say


def errors_of(refusal: Refusal | None) -> dict[str, list[dict[str, str]]]:
    """Return the codes and sentences of a refusal by field."""
    errors: dict[str, list[dict[str, str]]] = {}
    for error in refusal.fields if refusal else ():
        errors.setdefault(error.path, []).append({"code": error.code, "text": say(error.code, error.params)})
    return errors
