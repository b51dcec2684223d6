"""Tables to take away: nothing in them is a formula."""

import csv
import io
from decimal import Decimal

import pytest

from core.sheets import cell, csv_answer


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\u00a0=1", "\ufeff=1", '=HYPERLINK("http://x")'],
)
def test_a_text_that_looks_like_a_formula_is_marked_as_text(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(("value", "shown"), [
    ("Morning", "Morning"), ("a=b", "a=b"), ("", ""), (None, ""), (5, "5"), (Decimal("-0.30"), "-0.30"), ("a\x00b", "ab"),
])  # fmt: skip
def test_everything_else_stays_as_it_is(value, shown):
    assert cell(value) == shown


def test_a_table_is_a_download_that_reads_back():
    answer = csv_answer("usage-2026-06", ["name", "cost"], [["=cmd|' /C calc'!A0", Decimal("1.5")], ['a "b", c', 2]])
    assert answer["Content-Disposition"] == 'attachment; filename="usage-2026-06.csv"'
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert rows == [["name", "cost"], ["'=cmd|' /C calc'!A0", "1.5"], ['a "b", c', "2"]]
