"""The usage page as its template shows it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.utils import dateformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.domain.spend import month_after, month_of
from accounts.models import CreditEntry, User
from accounts.selectors.spend import Used, credit_entries
from chats.selectors.usage import Named, Standing
from core.human import Reader, money

View = dict[str, Any]

_HEIGHT = 120
_SHOWN_ENTRIES = 10
_STEPS = (1, 2, 5)


def month_view(first: date, today: date, total: Used, standing: Standing) -> View:
    """Return the month's figure, how much of the limit it is, and the months beside it."""
    now = first == month_of(today)
    spent, most = (standing.spent, standing.most) if now else (total.cost, None)
    name = dateformat.format(first, "F" if first.year == today.year else "F Y")
    return {
        "key": f"{first:%Y-%m}",
        "title": _("%(month)s so far") % {"month": name} if now else name,
        "spent": plain(spent),
        "most": plain(most) if most is not None else "",
        "used": percent(spent, most),
        "full": most is not None and spent >= most,
        "course": plain(spent * (month_after(today) - first).days / today.day) if now and today.day > 2 else "",
        "reserved": plain(standing.purse.reserved) if now and standing.purse.reserved else "",
        "resumes": dateformat.format(standing.resumes, "j F"),
        "turns": ngettext("%(n)s answer", "%(n)s answers", total.turns) % {"n": f"{total.turns:,}"},
        "tokens": _("%(in)s tokens in, %(out)s out")
        % {"in": short(total.input_tokens), "out": short(total.output_tokens)},
        "estimated": total.estimated,
        "before": f"{month_of(first - timedelta(days=1)):%Y-%m}",
        "after": "" if now else f"{month_after(first):%Y-%m}",
        "nothing": total.turns == 0,
    }


def credit_view(user: User, standing: Standing, reader: Reader) -> View | None:
    """Return the balance with what was granted last; None for somebody without a credit."""
    if standing.balance is None:
        return None
    grants = credit_entries(user).filter(kind=CreditEntry.GRANT)[:_SHOWN_ENTRIES]
    return {
        "balance": plain(standing.balance),
        "empty": standing.balance <= 0,
        "grants": [
            {"amount": plain(entry.amount), "reason": entry.reason, "at": reader.stamp(entry.created_at)}
            for entry in grants
        ],
    }


def bars_view(first: date, days: Sequence[Named]) -> View | None:
    """Return a bar for each day of the month, places in per cent, heights in pixels; None when nothing cost anything."""
    costs = {row.used.key: row.used.cost for row in days}
    if not any(costs.values()):
        return None
    dates = [first + timedelta(days=n) for n in range((month_after(first) - first).days)]
    dearest = max(costs, key=lambda key: costs[key])
    top = _top(costs[dearest])
    return {
        "bars": [_bar(n, len(dates), costs.get(day.isoformat(), Decimal(0)), top) for n, day in enumerate(dates)],
        "top": plain(top),
        "half": plain(top / 2),
        "first": dateformat.format(first, "j F"),
        "last": str(dates[-1].day),
        "words": _("Cost per day in %(month)s: %(n)s days with a cost, highest %(most)s on %(day)s.")
        % {
            "month": dateformat.format(first, "F"),
            "n": sum(1 for cost in costs.values() if cost),
            "most": plain(costs[dearest]),
            "day": dateformat.format(date.fromisoformat(dearest), "j F"),
        },
    }


def _bar(number: int, count: int, cost: Decimal, top: Decimal) -> View:
    height = max(round(cost / top * _HEIGHT), 2) if cost else 0
    return {"x": f"{(number + 0.5) / count * 100:.2f}%", "y": 128 - height, "h": height}


def _top(most: Decimal) -> Decimal:
    """Return the round amount at the top of the scale: 1, 2 or 5 at its size."""
    size = Decimal(10) ** most.adjusted()
    return next((step * size for step in _STEPS if step * size >= most), 10 * size)


def rows_view(by: str, rows: Sequence[Named], total: Used) -> View:
    """Return one table: what the month's usage went to, the dearest first."""
    titles = {"schedule": _("Per schedule"), "agent": _("Per agent"), "model": _("Per model")}
    heads = {"schedule": _("Schedule"), "agent": _("Agent"), "model": _("Model")}
    return {"by": by, "title": titles[by], "head": heads[by], "rows": [_row(by, row, total) for row in rows]}


def _row(by: str, row: Named, total: Used) -> View:
    used = row.used
    return {
        "id": used.key if by == "schedule" and row.name else "",
        "name": row.name or _unnamed(by, used.key),
        "turns": f"{used.turns:,}",
        "tokens": short(used.input_tokens + used.output_tokens),
        "cost": plain(used.cost) if used.cost else "–",
        "share": f"{percent(used.cost, total.cost) or 0}%",
    }


def _unnamed(by: str, key: str) -> str:
    if by == "schedule":
        return _("Deleted schedule") if key else _("Conversations you started")
    return _("Deleted agent") if by == "agent" else _("Deleted model")


def percent(part: Decimal, whole: Decimal | None) -> int | None:
    """Return how many per cent of `whole` are used, at most 100; None without a limit."""
    if whole is None:
        return None
    return 100 if part >= whole else int(part * 100 / whole)


def plain(amount: Decimal) -> str:
    """Return an amount with two places, more where it would look like nothing."""
    return money(amount) if 0 < amount < Decimal("0.01") else f"{amount:,.2f}"


def short(tokens: int) -> str:
    """Return a count in the unit that is read at once: 812, 45 thousand, 1.9 million."""
    if tokens >= 1_000_000:
        return _("%(n)s million") % {"n": f"{tokens / 1_000_000:,.1f}"}
    return _("%(n)s thousand") % {"n": f"{tokens / 1_000:.0f}"} if tokens >= 10_000 else f"{tokens:,}"
