"""`/usage/`: what was used and spent in a month of the reader's zone, as a page and as a table to take away."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.domain.spend import month_after, month_of
from accounts.models import User
from chats.panel.usage_view import bars_view, credit_view, month_view, rows_view
from chats.selectors.usage import PARTS, standing_of, today_of, usage_named, usage_rows, usage_summed
from core.panel import face, reader_of
from core.sheets import csv_answer

_FIGURES = ("turns", "input_tokens", "cached_tokens", "output_tokens", "cost")
_HEADER = ("day", "schedule", "schedule_name", "agent", "model", "started_by", *_FIGURES, "estimated")


@face
@require_safe
def usage(request: HttpRequest) -> HttpResponse:
    """Show one month: in all, by day, by schedule, agent and model."""
    user, reader = cast(User, request.user), reader_of(request)
    today = today_of(user, now=reader.now)
    first = _month(request, today)
    days = {"since": first, "until": month_after(first) - timedelta(days=1)}
    total, standing = usage_summed(user, **days), standing_of(user, now=reader.now)
    context: dict[str, Any] = {
        "month": month_view(first, today, total, standing),
        "credit": credit_view(user, standing, reader),
        "bars": bars_view(first, usage_named(user, by="day", **days)),
        "groups": [rows_view(by, usage_named(user, by=by, **days), total) for by in _GROUPS],
    }
    return render(request, "chats/usage.html", context | {"here": "usage"})


@face
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Give the month as a table, a row for each day, schedule, agent and model."""
    user, now = cast(User, request.user), reader_of(request).now
    first = _month(request, today_of(user, now=now))
    rows = usage_rows(user, since=first, until=month_after(first) - timedelta(days=1))
    lines = (
        (
            key["day"], key["schedule"], names["schedule"], names["agent"], names["model"], key[PARTS[-1]],
            *(getattr(used, figure) for figure in _FIGURES), "yes" if used.estimated else "no",
        )
        for key, names, used in rows
    )  # fmt: skip
    return csv_answer(f"usage-{first:%Y-%m}", _HEADER, lines)


_GROUPS = ("schedule", "agent", "model")


def _month(request: HttpRequest, today: date) -> date:
    """Return the first day of the month that the address names, this month's when it names none that can be read."""
    try:
        named = date.fromisoformat(f"{request.GET.get('month', '')}-01")
    except ValueError:
        return month_of(today)
    return named if date(2000, 1, 1) <= named <= month_of(today) else month_of(today)
