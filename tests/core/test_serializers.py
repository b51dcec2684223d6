"""Strict input: unknown fields refused, every error a code with parameters at a dotted path (wire.md, B83)."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from core.errors import Refusal
from core.serializers import (
    AmountField,
    FlagField,
    IdField,
    InstantField,
    ListOf,
    StrictSerializer,
    TextField,
    WholeField,
    WordField,
    validated,
)

FAMILY = "👨‍👩‍👧‍👦"


class Inner(StrictSerializer):
    at = InstantField(required=False, allow_null=True)


class Body(StrictSerializer):
    name = TextField(most=5, stored=100)
    note = TextField(least=0, most=5, required=False)
    count = WholeField(least=1, most=5, required=False, allow_null=True)
    on = FlagField(required=False)
    word = WordField(choices=["a", "b"], required=False)
    inner = Inner(required=False)
    words = ListOf(child=WordField(choices=["x"]), least=1, most=3, required=False)
    amount = AmountField(required=False, allow_null=True)
    thing = IdField(required=False, allow_null=True)


def refused(body: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    with pytest.raises(Refusal) as caught:
        validated(Body, body)
    return {error.path: (error.code, dict(error.params)) for error in caught.value.fields}


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({}, "name", "required"),
        ({"name": None}, "name", "required"),
        ({"name": " \n"}, "name", "required"),
        ({"name": 5}, "name", "wrong_type"),
        ({"name": ["a"]}, "name", "wrong_type"),
        ({"name": "sixsix"}, "name", "too_long"),
        ({"name": "a\x00"}, "name", "wrong_type"),
        ({"name": "a", "zone": "UTC"}, "zone", "unknown_field"),
        ({"name": "a", "count": True}, "count", "wrong_type"),
        ({"name": "a", "count": "3"}, "count", "wrong_type"),
        ({"name": "a", "count": 3.0}, "count", "wrong_type"),
        ({"name": "a", "count": 10**30}, "count", "out_of_range"),
        ({"name": "a", "on": "true"}, "on", "wrong_type"),
        ({"name": "a", "on": 1}, "on", "wrong_type"),
        ({"name": "a", "word": "c"}, "word", "choice_unknown"),
        ({"name": "a", "word": ["a"]}, "word", "choice_unknown"),
        ({"name": "a", "inner": {"zone": 1}}, "inner.zone", "unknown_field"),
        ({"name": "a", "inner": {"at": "2026-01-01T00:00:00"}}, "inner.at", "instant_without_offset"),
        ({"name": "a", "inner": {"at": "2026-02-30T00:00:00Z"}}, "inner.at", "wrong_type"),
        ({"name": "a", "inner": {"at": 1}}, "inner.at", "wrong_type"),
        ({"name": "a", "inner": {"at": "0001-01-01T00:00:00+14:00"}}, "inner.at", "wrong_type"),
        ({"name": "a", "inner": []}, "inner", "wrong_type"),
        ({"name": "a", "words": ["x", "y"]}, "words.1", "choice_unknown"),
        ({"name": "a", "words": []}, "words", "required"),
        ({"name": "a", "words": ["x"] * 4}, "words", "too_long"),
        ({"name": "a", "words": "x"}, "words", "wrong_type"),
        ({"name": "a", "amount": 1.5}, "amount", "wrong_type"),
        ({"name": "a", "amount": "1.555"}, "amount", "wrong_type"),
        ({"name": "a", "amount": "-1"}, "amount", "wrong_type"),
        ({"name": "a", "amount": "99999999999"}, "amount", "out_of_range"),
        ({"name": "a", "thing": ""}, "thing", "required"),
        ({"name": "a", "thing": 7}, "thing", "wrong_type"),
    ],
)
def test_each_wrong_value_has_its_code_at_its_path(body: dict[str, Any], path: str, code: str):
    errors = refused(body)
    assert set(errors) == {path}
    assert errors[path][0] == code


def test_the_numbers_of_a_sentence_come_with_the_code():
    assert refused({"name": "sixsix"})["name"] == ("too_long", {"actual": 6, "most": 5})
    assert refused({"name": "a", "count": 9})["count"] == ("out_of_range", {"least": 1, "most": 5})


def test_unknown_and_wrong_fields_are_all_named_at_once():
    assert set(refused({"zone": 1, "count": "x", "inner": {"a": 1, "at": 1}})) == {
        "zone", "name", "count", "inner.a", "inner.at",
    }  # fmt: skip


def test_length_is_counted_in_characters_as_people_see_them():
    """B83"""
    assert validated(Body, {"name": FAMILY * 5})["name"] == FAMILY * 5
    assert refused({"name": FAMILY * 6})["name"][1] == {"actual": 6, "most": 5}


def test_what_a_column_cannot_take_is_too_long_although_it_is_few_characters():
    zalgo = "a" + "\u0301\u0323" * 60
    assert refused({"name": zalgo})["name"][0] == "too_long"


def test_values_come_out_tidy_and_typed():
    values = validated(
        Body,
        {
            "name": " e\u0301 ",
            "note": "  ",
            "count": None,
            "inner": {"at": "2026-06-05T09:00:00+02:00"},
            "amount": "1.5",
        },
    )
    assert values == {
        "name": "é",
        "note": "",
        "count": None,
        "inner": {"at": datetime(2026, 6, 5, 7, tzinfo=UTC)},
        "amount": Decimal("1.5"),
    }


def test_a_patch_holds_only_what_was_sent():
    assert validated(Body, {"note": "x"}, partial=True) == {"note": "x"}
