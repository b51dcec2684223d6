"""Tables as CSV files, safe to open in a program that computes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell(value: object) -> str:
    """Return `value` as a cell; a text that a program would take for a formula gets an apostrophe before it.

    Blanks do not hide a formula: they are looked past. Numbers are given as numbers and stay what they are.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    text = value.replace("\x00", "")
    hidden = text.lstrip(" \u00a0\ufeff\u200b")
    return f"'{text}" if text.startswith(_STARTS_FORMULA) or hidden.startswith(_STARTS_FORMULA) else text


def csv_answer(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponse:
    """Return the table as a download called `name`.csv, in UTF-8 with a mark that old programs know it by."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(header)
    writer.writerows([cell(value) for value in row] for row in rows)
    named = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return HttpResponse("\ufeff" + file.getvalue(), content_type="text/csv; charset=utf-8", headers=named)
