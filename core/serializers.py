"""Input of the API and of forms: unknown fields are refused, every error is a code of the catalogue with parameters.

Use `validated(Serializer, data)`; it returns the values or raises one Refusal with dotted paths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from core.errors import Refusal, sentence
from core.problems import Code, field_errors
from core.text import graphemes, has_nul, tidy

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(?P<offset>[Zz]|[+-]\d{2}:\d{2})?")


def refuse(code: str, **params: Any) -> ValidationError:
    """Return the error for one field, to be raised in `to_internal_value` or `validate_<field>`."""
    return ValidationError(sentence(code, params), code=Code(code, **params))


class _Coded:
    """A field whose own errors are codes of the catalogue; `expected` completes "This must be ...".

    `wrong_type` is the only thing most fields can say; `required` stands for absent, null and blank alike.
    """

    expected = "something else"

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        if key in ("required", "null", "blank", "empty"):
            raise refuse("required")
        raise refuse("wrong_type", expected=self.expected)


class TextField(_Coded, serializers.CharField):
    """Text, trimmed and in NFC; `least` to `most` characters as people count them (B83). Numbers are not text.

    `stored` is how many code points the column takes, ten a character when nothing is said.
    """

    expected = "text"

    def __init__(self, *, least: int = 1, most: int, stored: int | None = None, **kwargs: Any) -> None:
        self.least, self.most, self.stored = least, most, stored or 10 * most
        kwargs.setdefault("allow_blank", least == 0)
        super().__init__(trim_whitespace=False, **kwargs)
        self.validators = []

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not tidy(data) and self.least == 0:
            return ""
        return super(serializers.CharField, self).run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if has_nul(data):
            raise refuse("wrong_type", expected="text without NUL characters")
        text = tidy(data)
        if not text and self.least > 0:
            self.fail("blank")
        # Code points are never fewer than characters: the count is needed only beyond `most` of them.
        actual = graphemes(text) if len(text) > self.most else len(text)
        if actual > self.most or len(text) > self.stored:
            raise refuse("too_long", actual=max(actual, self.most + 1), most=self.most)
        if actual < self.least and graphemes(text) < self.least:
            raise refuse("too_short", actual=graphemes(text), least=self.least)
        return text


class WholeField(_Coded, serializers.IntegerField):
    """A JSON whole number from `least` to `most`; true, text and fractions are refused."""

    expected = "a whole number"

    def __init__(self, *, least: int, most: int, **kwargs: Any) -> None:
        self.least, self.most = least, most
        super().__init__(min_value=least, max_value=most, **kwargs)
        self.validators = []

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        if not self.least <= data <= self.most:
            raise refuse("out_of_range", least=self.least, most=self.most)
        return int(data)


class FlagField(_Coded, serializers.BooleanField):
    """A JSON true or false, nothing that merely looks like one."""

    expected = "true or false"

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return bool(data)


class WordField(_Coded, serializers.ChoiceField):
    """One of a fixed set of words."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            raise refuse("choice_unknown", choices=", ".join(str(choice) for choice in self.choices))
        return data


class IdField(_Coded, serializers.CharField):
    """An opaque id as text; whether it exists is the service's question."""

    expected = "an id"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=100, **kwargs)
        self.validators = []

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or not data or len(data) > 100 or has_nul(data):
            self.fail("invalid")
        return str(data)


class InstantField(_Coded, serializers.DateTimeField):
    """An instant with its offset (`2026-06-05T07:00:00Z`), as UTC. Raises `instant_without_offset` for a bare one."""

    expected = "an instant such as 2026-06-05T07:00:00Z"

    def to_internal_value(self, value: Any) -> datetime:
        return parse_instant(value)


class AmountField(_Coded, serializers.DecimalField):
    """An amount of money as decimal text (`"12.50"`), never a float; at most two decimals."""

    expected = 'an amount as text, such as "12.50"'

    def __init__(self, *, most: Decimal = Decimal("9999999999.99"), **kwargs: Any) -> None:
        self.most = most
        super().__init__(max_digits=12, decimal_places=2, **kwargs)
        self.validators = []

    def to_internal_value(self, data: Any) -> Decimal:
        if not isinstance(data, str) or not re.fullmatch(r"\d{1,20}(\.\d{1,2})?", data, re.ASCII):
            self.fail("invalid")
        amount = Decimal(data)
        if amount > self.most:
            raise refuse("out_of_range", least=0, most=str(self.most))
        return amount


class ListOf(_Coded, serializers.ListField):
    """A JSON list of one kind of field, of at most `most` entries."""

    expected = "a list"

    def __init__(self, *, most: int, least: int = 0, **kwargs: Any) -> None:
        self.least, self.most = least, most
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list")
        if len(data) < self.least:
            self.fail("empty")
        if len(data) > self.most:
            raise refuse("too_long", actual=len(data), most=self.most)
        return list(self.run_child_validation(data))


class StrictSerializer(serializers.Serializer[Any]):
    """An object with known fields only. Nested ones give dotted paths (`cadence.expression`)."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise refuse("wrong_type", expected="an object")
        writable = {name for name, field in self.fields.items() if not field.read_only}
        errors: dict[str, Any] = {
            name: refuse("unknown_field", name=name).detail for name in data if name not in writable
        }
        values: dict[str, Any] = {}
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            errors |= error.detail if isinstance(error.detail, dict) else {"non_field_errors": error.detail}
        if errors:
            raise ValidationError(errors)
        return values

    def fail(self, key: str, **kwargs: Any) -> NoReturn:
        if key in ("required", "null"):
            raise refuse("required")
        raise refuse("wrong_type", expected="an object")


class NothingInput(StrictSerializer):
    """The body of an act that takes none: absent or an empty object."""


S = TypeVar("S", bound=StrictSerializer)


def validated(serializer: type[S], data: Any, *, partial: bool = False, context: Any = None) -> dict[str, Any]:
    """Return the values of `data`. Raises one Refusal with every field's error (several: `input_invalid`)."""
    bound = serializer(data=data, partial=partial, context=context or {})
    try:
        bound.is_valid(raise_exception=True)
    except ValidationError as error:
        raise Refusal.of(list(field_errors(error.detail))) from error
    return dict(bound.validated_data)


def parse_instant(value: Any) -> datetime:
    """Return an RFC 3339 instant as UTC. Raises DRF's ValidationError for another form or a missing offset."""
    match = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise refuse("wrong_type", expected=InstantField.expected)
    if match["offset"] is None:
        raise refuse("instant_without_offset")
    try:
        return datetime.fromisoformat(value.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise refuse("wrong_type", expected=InstantField.expected) from error


def instant_filter(query: Mapping[str, str], name: str) -> Any:
    """Return the filter `name` as an instant, or None. Raises Refusal at the filter."""
    if name not in query:
        return None
    try:
        return parse_instant(query[name])
    except ValidationError as error:
        raise Refusal.of(list(field_errors(error.detail, name))) from error
