"""Lists: steady keyset pages, nulls last, unknown filters refused (wire.md)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from core.errors import Refusal
from core.paging import Cursor, decode, encode, flag_of, query_of
from schedules.models import Schedule
from tests.factories import NOW, make_conversation, make_schedule
from tests.support.calls import caller, code_of, field_codes


def asked(query: str) -> Request:
    return Request(APIRequestFactory().get(f"/api/v1/things?{query}"))


class View:
    ordering = ("next_run_at", "id")


def page(query: str, rows: Any, view: Any = View) -> tuple[list[Any], str | None, str | None]:
    pages = Cursor()
    found = pages.paginate_queryset(rows, asked(query), view())
    return found, pages.next, pages.previous


def walk(rows: Any, limit: int, view: Any = View) -> list[Any]:
    """Return all rows page by page, checking that the way back shows the same pages."""
    found, onward, back = page(f"limit={limit}", rows, view)
    pages = [found]
    assert back is None
    while onward:
        found, onward, back = page(onward.split("?")[1], rows, view)
        pages.append(found)
        assert len(pages) < 20
    for earlier in reversed(pages[:-1]):
        assert back is not None
        found, _, back = page(back.split("?")[1], rows, view)
        assert found == earlier
    assert back is None
    return [row for part in pages for row in part]


@pytest.fixture
def schedules(alice: Any) -> Any:
    """Seven schedules, two at one instant, three without a next run."""
    hours = [3, None, 1, 1, None, 2, None]
    for hour in hours:
        at = NOW + timedelta(hours=hour) if hour else None
        make_schedule(owner=alice, next_run_at=at)
    return Schedule.objects.all()


class Downwards:
    ordering = ("-next_run_at", "-id")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("view", [View, Downwards])
def test_pages_hold_every_row_once_in_order_with_nulls_last(limit: int, view: Any, schedules: Any):
    """wire.md: schedules by `next_run_at` (none last)"""
    found = walk(schedules, limit, view)
    assert len({row.pk for row in found}) == len(found) == 7
    dated = [row.next_run_at for row in found if row.next_run_at]
    assert dated == sorted(dated, reverse=view is Downwards)
    assert [row.next_run_at for row in found[4:]] == [None] * 3
    tied = [row.pk for row in found if row.next_run_at == NOW + timedelta(hours=1)]
    assert tied == sorted(tied, reverse=view is Downwards)


def test_a_row_that_goes_and_one_that_comes_shift_no_page(schedules: Any, alice: Any):
    first, onward, _ = page("limit=2", schedules)
    rest = [row.pk for row in walk(schedules, 50)][2:]
    first[1].delete()
    make_schedule(owner=alice, next_run_at=NOW)
    assert onward
    assert [row.pk for row in page(onward.split("?")[1] + "&limit=50", schedules)[0]] == rest


def test_the_way_on_keeps_the_filters_of_the_list(alice: Any):
    for _ in range(3):
        make_conversation(owner=alice, unread=True)
    client = caller(alice)
    first = client.get("/api/v1/conversations?unread=true&limit=2").json()
    assert len(first["results"]) == 2
    assert "unread=true" in first["next"]
    second = client.get(first["next"]).json()
    assert len(second["results"]) == 1
    assert second["next"] is None
    assert client.get(second["previous"]).json()["results"] == first["results"]


def test_a_page_has_fifty_rows_unless_asked(alice: Any):
    for _ in range(51):
        make_conversation(owner=alice)
    assert len(caller(alice).get("/api/v1/conversations").json()["results"]) == 50
    assert len(caller(alice).get("/api/v1/conversations?limit=200").json()["results"]) == 51


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "", "1.5", "٣", "9" * 30])
def test_a_page_of_another_size_is_refused(limit: str, alice: Any):
    answer = caller(alice).get("/api/v1/conversations", {"limit": limit})
    assert (answer.status_code, field_codes(answer)) == (400, {"limit": ["out_of_range"]})


FORGED = [
    "x", "!!!", "W10", encode([1], backwards=False), encode([NOW, 1, 2], backwards=False), encode([1.5, 1], backwards=False),
    encode([NOW, 2**70], backwards=False), encode(["\x00", 1], backwards=True), encode([[], 1], backwards=True),
    encode([{"at": 1}, 1], backwards=True), encode([{"at": "2026-01-01T00:00:00"}, 1], backwards=True),
]  # fmt: skip


@pytest.mark.parametrize("cursor", FORGED)
def test_a_cursor_that_no_list_gave_out_is_refused(cursor: str, alice: Any):
    answer = caller(alice).get("/api/v1/conversations", {"cursor": cursor})
    assert (answer.status_code, code_of(answer)) == (400, "wrong_type")
    assert list(answer.json()["fields"]) == ["cursor"]


@pytest.mark.parametrize("position", [["text", "text"], [5, 5], [True, 1], [NOW, "x"]])
def test_a_cursor_of_another_list_is_refused_and_never_an_error(position: list[Any], alice: Any):
    make_conversation(owner=alice)
    answer = caller(alice).get("/api/v1/conversations", {"cursor": encode(position, backwards=False)})
    assert (answer.status_code, field_codes(answer)) == (400, {"cursor": ["wrong_type"]})


def test_positions_survive_the_way_into_a_cursor_and_back():
    assert decode(encode([NOW, None, "a", 5], backwards=True), 4) == (True, [NOW, None, "a", 5])


def test_filters_nobody_knows_are_refused(alice: Any):
    answer = caller(alice).get("/api/v1/projects?colour=1&q=a")
    assert (answer.status_code, field_codes(answer)) == (400, {"colour": ["filter_unknown"]})


def test_a_filter_given_twice_is_refused():
    with pytest.raises(Refusal) as refused:
        query_of(asked("q=a&q=b"), "q")
    assert refused.value.code == "filter_unknown"


def test_a_filter_with_nul_is_refused(alice: Any):
    answer = caller(alice).get("/api/v1/projects?q=%00")
    assert (answer.status_code, field_codes(answer)) == (400, {"q": ["wrong_type"]})


def test_flags_are_words():
    assert flag_of({"unread": "true"}, "unread") is True
    assert flag_of({"unread": "0"}, "unread") is False
    assert flag_of({}, "unread") is None
    with pytest.raises(Refusal):
        flag_of({"unread": "perhaps"}, "unread")
