"""What is said about a cadence that cannot be used."""

from __future__ import annotations

from core.errors import sentence

_REASONS = {"cadence_invalid", "cadence_too_complex", "cadence_never_fires", "zone_unknown"}


class CadenceError(ValueError):
    """A refusal at one field of a cadence.

    `code` is one of the error table, `field` the last part of the path (`time`, `expression`, `zone`, ...), `params`
    what the sentence names; `cadence_invalid` carries its whole sentence as `problem`.
    """

    def __init__(self, code: str, field: str, **params: object) -> None:
        super().__init__(f"{field}: {code} {params}" if params else f"{field}: {code}")
        self.code = code
        self.field = field
        self.params: dict[str, object] = dict(params)

    def reason(self) -> tuple[str, dict[str, object]]:
        """Return (code, params) of a run that was refused for it: a stored rule has no form whose field could be named."""
        if self.code in _REASONS:
            return self.code, dict(self.params)
        return "cadence_invalid", {"problem": f"{self.field}: {sentence(self.code, self.params)}"}


def invalid(field: str, problem: str) -> CadenceError:
    """Return the refusal `cadence_invalid` at `field`; `problem` is a sentence that says what works."""
    return CadenceError("cadence_invalid", field, problem=problem)
