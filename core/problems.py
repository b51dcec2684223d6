"""Problem documents (RFC 9457): every refusal has one shape, in the API and on pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.http import Http404, JsonResponse
from rest_framework import exceptions
from rest_framework.fields import get_error_detail

from core.errors import CATALOGUE, FieldError, Refusal
from core.wire import plain

CONTENT_TYPE = "application/problem+json"

_KNOWN_FIELD_CODES = {
    "required": "required",
    "null": "required",
    "blank": "required",
    "empty": "required",
    "max_length": "too_long",
    "min_length": "too_short",
    "max_value": "out_of_range",
    "min_value": "out_of_range",
    "invalid_choice": "choice_unknown",
}


class Code(str):
    """A code of the catalogue with its parameters, in the place where DRF keeps a plain code."""

    params: Mapping[str, Any]

    def __new__(cls, code: str, **params: Any) -> Code:
        made = super().__new__(cls, code)
        made.params = params
        return made


def problem_of(refusal: Refusal) -> dict[str, Any]:
    """Return the problem document of `refusal`: `type, title, status, code, detail, fields, params` (wire.md)."""
    fields: dict[str, list[dict[str, str]]] = {}
    for error in refusal.fields:
        fields.setdefault(error.path, []).append({"code": error.code, "text": error.text})
    return {
        "type": f"urn:quotidian:error:{refusal.code}",
        "title": refusal.code.replace("_", " ").capitalize(),
        "status": refusal.status,
        "code": refusal.code,
        "detail": refusal.text,
        "fields": fields,
        "params": plain(refusal.params),
    }


def headers_of(refusal: Refusal) -> dict[str, str]:
    """Return the headers that belong to `refusal`; 429 and 503 always say when to come back (RFC 9110, 10.2.3)."""
    seconds = refusal.retry_after
    if seconds is None and refusal.status in (429, 503):
        seconds = int(refusal.params.get("seconds", 5))
    return {} if seconds is None else {"Retry-After": str(max(1, seconds))}


def problem_response(refusal: Refusal) -> JsonResponse:
    """Return `refusal` as a response for views outside the REST framework."""
    return JsonResponse(
        problem_of(refusal), status=refusal.status, content_type=CONTENT_TYPE, headers=headers_of(refusal)
    )


def refusal_of(error: Exception) -> Refusal | None:
    """Return the refusal that `error` amounts to, or None for an error that nobody foresaw."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, DjangoValidationError):
        error = exceptions.ValidationError(get_error_detail(error))
    if isinstance(error, exceptions.ValidationError):
        return Refusal.of(list(field_errors(error.detail)) or [FieldError("body", "input_invalid")])
    if isinstance(error, exceptions.Throttled):
        seconds = max(1, int(getattr(error, "wait", None) or 1))
        return Refusal("rate_limited", retry_after=seconds, seconds=seconds)
    if isinstance(error, exceptions.MethodNotAllowed):
        return Refusal("method_not_allowed", method=error.args[0] if error.args else "This method")
    for kinds, code in _PLAIN:
        if isinstance(error, kinds):
            return Refusal(code)
    unreadable = (exceptions.ParseError, exceptions.UnsupportedMediaType, SuspiciousOperation, RequestDataTooBig)
    if isinstance(error, unreadable):
        return Refusal("body_unreadable", expected="a JSON object")
    return None


_PLAIN: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((Http404, exceptions.NotFound), "not_found"),
    ((exceptions.NotAuthenticated,), "not_signed_in"),
    ((exceptions.AuthenticationFailed,), "token_invalid"),
    ((PermissionDenied, exceptions.PermissionDenied), "permission_denied"),
)


def field_errors(detail: Any, path: str = "") -> Iterator[FieldError]:
    """Yield the errors of DRF's nested `detail` with dotted paths and codes of the catalogue."""
    if isinstance(detail, Mapping):
        for key, part in detail.items():
            inner = path if key == "non_field_errors" else f"{path}.{key}" if path else str(key)
            yield from field_errors(part, inner)
    elif isinstance(detail, list):
        for position, part in enumerate(detail):
            nested = isinstance(part, Mapping)
            yield from field_errors(part, f"{path}.{position}" if nested and path else path)
    else:
        yield _field_error(path or "body", detail)


def _field_error(path: str, detail: Any) -> FieldError:
    code = getattr(detail, "code", "invalid")
    if isinstance(code, Code):
        return FieldError(path, str(code), code.params)
    if code in _KNOWN_FIELD_CODES:
        return FieldError(path, _KNOWN_FIELD_CODES[code])
    if code in CATALOGUE:
        return FieldError(path, code)
    return FieldError(path, "wrong_type", {"expected": "something else"})
