"""Many rows written in one go, with the conversions of `save` and only where the keys still hold."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import DataError, transaction

from chats.models import Turn
from core.db import update_many
from tests.factories import make_turn

AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


@pytest.fixture
def turns(alice: Any) -> list[Turn]:
    return [make_turn(owner=alice) for _ in range(3)]


def test_each_row_gets_its_own_values_of_every_kind(turns: list[Turn]) -> None:
    rows = [(f"code {n}", {"n": n}, AT if n else None, n / 2, turn.pk) for n, turn in enumerate(turns)]
    assert update_many(Turn, ["error_code", "error_params", "first_dispatched_at", "leased_seconds"], rows) == 3
    for n, turn in enumerate(turns):
        turn.refresh_from_db()
        assert (turn.error_code, turn.error_params, turn.leased_seconds) == (f"code {n}", {"n": n}, n / 2)
        assert turn.first_dispatched_at == (AT if n else None)


def test_a_row_whose_key_no_longer_holds_is_left_alone_and_not_counted(turns: list[Turn]) -> None:
    """R4: the fence is part of the key."""
    rows = [("late" if n == 1 else "mine", turn.pk, turn.fence + (n == 1)) for n, turn in enumerate(turns)]
    assert update_many(Turn, ["error_code"], rows, keys=["pk", "fence"]) == 2
    assert [Turn.objects.get(pk=turn.pk).error_code for turn in turns] == ["mine", "", "mine"]


def test_only_rows_in_one_of_the_states_named_are_written(turns: list[Turn]) -> None:
    Turn.objects.filter(pk=turns[0].pk).update(status="cancelled", settled_at=AT)
    rows = [("seen", turn.pk) for turn in turns]
    assert update_many(Turn, ["error_code"], rows, where_in=("status", ["queued", "running"])) == 2
    assert Turn.objects.get(pk=turns[0].pk).error_code == ""


def test_no_rows_write_nothing(db: None) -> None:
    assert update_many(Turn, ["error_code"], []) == 0


def test_a_text_too_long_for_its_column_is_never_cut(turns: list[Turn]) -> None:
    """PostgreSQL refuses it; SQLite's columns have no length and keep it whole."""
    with suppress(DataError), transaction.atomic():
        update_many(Turn, ["error_code"], [("x" * 41, turns[0].pk)])
    assert Turn.objects.get(pk=turns[0].pk).error_code in ("", "x" * 41)
