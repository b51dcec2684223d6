"""The side panel as its template shows it: cards in groups, the day line, filters with counts, the foot."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils import dateformat
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import User
from accounts.selectors.limits import limits_of
from accounts.selectors.permissions import may
from agents.models import ProviderKind
from agents.selectors import usable_agents
from core.human import Reader, version
from schedules.outputs.cards import GROUPS, View, card_view
from schedules.outputs.dayline import dayline_view
from schedules.outputs.words import model_label
from schedules.selectors.lists import recent_outcomes, schedules_of
from schedules.selectors.panel import Standing, carded, open_runs_of, panel_rows, standing

MOST_CARDS = 200
_STRIP, _DEEP, _FEW = 10, 25, 20
"""The strip shows ten outcomes; of few schedules so many are read that the day line has an hourly one whole."""


FILTERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "all": (gettext_lazy("All"), tuple(GROUPS)),
    "running": (gettext_lazy("Running"), ("running", "queued")),
    "needs": (gettext_lazy("Needs me"), ("needs_approval", "failed")),
    "blocked": (gettext_lazy("Blocked"), ("blocked",)),
    "paused": (gettext_lazy("Paused"), ("paused",)),
    "completed": (gettext_lazy("Completed"), ("completed",)),
}

_GROUP_TITLES = {
    "needs": gettext_lazy("Needs you"),
    "now": gettext_lazy("Now"),
    "coming": gettext_lazy("Coming up"),
    "resting": gettext_lazy("Resting"),
}

_NOTHING = {
    "running": gettext_lazy("Nothing is running"),
    "needs": gettext_lazy("Nothing waits for you"),
    "blocked": gettext_lazy("Nothing is blocked"),
    "paused": gettext_lazy("Nothing is paused"),
    "completed": gettext_lazy("Nothing is completed yet"),
}

TEMPLATES = (
    (
        "briefing",
        gettext_lazy("Morning briefing"),
        gettext_lazy("Every weekday at 08:00: what matters today, in three points"),
    ),
    (
        "look-back",
        gettext_lazy("Weekly look back"),
        gettext_lazy("Fridays at 16:00: what you did, what is still open"),
    ),
    (
        "word",
        gettext_lazy("A word a day"),
        gettext_lazy("Every day at 18:00: one word, its story, one sentence to try"),
    ),
)


def panel_view(*, owner: User, reader: Reader, show: str = "all", q: str = "") -> View:
    """Return everything the panel shows to `owner`, with its `version` and `every`, the seconds until the next look."""
    show = show if show in FILTERS else "all"
    limits, may_write = limits_of(owner), may(owner, "create_schedules")
    cards, schedules, outcomes, state = _cards(owner, reader, q.strip(), may_write)
    shown = [card for card in cards if card["state"] in FILTERS[show][1]]
    view: View = {
        "show": show,
        "q": q.strip(),
        "groups": _groups(shown),
        "tabs": _tabs(cards, show),
        "dayline": dayline_view(schedules, outcomes, reader) if schedules else None,
        "today": dateformat.format(reader.today, "D j F"),
        "place": reader.place,
        "may_write": may_write,
        "enabled": limits.enabled,
        "foot": _foot(cards, limits.max_schedules, q),
        "empty": None if shown else _empty(cards, show, q.strip()),
        "waiting": sum(GROUPS[card["state"]] == "needs" for card in cards),
        "banner": banner_view(state, reader),
        "stand_in": _stand_in(owner, cards),
        "templates": TEMPLATES,
    }
    return view | {"version": version(view), "every": seconds_to_next_look(cards, reader.now)}


def _cards(owner: User, reader: Reader, q: str, may_write: bool) -> Any:
    listed = schedules_of(owner).order_by("name", "pk")
    if q:
        listed = listed.filter(Q(name__icontains=q) | Q(prompt__icontains=q) | Q(agent__name__icontains=q))
    open_runs = open_runs_of(owner)
    rows = panel_rows(owner, carded(listed)[:MOST_CARDS], open_runs)
    depth = _DEEP if len(rows) <= _FEW else _STRIP
    outcomes = recent_outcomes([row.schedule.pk for row in rows], n=depth)
    state = standing(reader.now)
    cards = [
        card_view(
            row,
            open_runs=open_runs.get(row.schedule.pk, ()),
            outcomes=outcomes.get(row.schedule.pk, ()),
            reader=reader,
            held=state.stop is not None,
            may_write=may_write,
        )
        for row in rows
    ]
    return cards, [row.schedule for row in rows], [o for some in outcomes.values() for o in some], state


def _groups(cards: list[View]) -> list[View]:
    groups = []
    for key, title in _GROUP_TITLES.items():
        inside = [card for card in cards if GROUPS[card["state"]] == key]
        if key == "coming":
            inside.sort(key=lambda card: (card["next_at"] or "9", card["name"]))
        if inside:
            groups.append({"key": key, "title": str(title), "cards": inside})
    return groups


def _tabs(cards: list[View], show: str) -> list[View]:
    return [
        {
            "key": key,
            "label": str(label),
            "count": sum(card["state"] in states for card in cards),
            "here": key == show,
        }
        for key, (label, states) in FILTERS.items()
    ]


def _foot(cards: list[View], most: int, q: str) -> str:
    """Say how many of the allowed schedules there are; completed ones do not count (accounts.md)."""
    if q:
        return ngettext("%(n)s schedule found", "%(n)s schedules found", len(cards)) % {"n": len(cards)}
    used = sum(card["state"] != "completed" for card in cards)
    return _("%(used)s of %(most)s schedules") % {"used": used, "most": most}


def _empty(cards: list[View], show: str, q: str) -> View:
    """Say why nothing is shown: nothing exists yet, nothing matches the words, or nothing is in this state."""
    if not cards and not q:
        return {"kind": "first"}
    if q:
        return {"kind": "none", "title": _("No schedule matches “%(q)s”") % {"q": q}, "text": ""}
    may_run = ngettext("Your schedule is in another list.", "All %(n)s schedules are in other lists.", len(cards))
    return {"kind": "none", "title": str(_NOTHING[show]), "text": may_run % {"n": len(cards)}}


def _stand_in(owner: User, cards: list[View]) -> View | None:
    """Say that nothing but the demo or the small local model answers, until somebody adds a provider."""
    if cards:
        labels = {card["what"]["label"] for card in cards}
    else:
        kinds = usable_agents(owner).values_list("model__provider__kind", flat=True)
        labels = {model_label(kind) for kind in kinds}
    if not labels or "" in labels:
        return None
    if model_label(ProviderKind.LOCAL) in labels:
        fact = _("Answers come from the small built-in model.")
        return {"fact": fact, "rest": _("Fine for a first look; short of knowledge.")}
    return {"fact": _("Answers come from the demo."), "rest": _("No model is asked: it only shows how a run looks.")}


def seconds_to_next_look(cards: list[View], now: datetime) -> float:
    """Return 1 while something runs or waits, 2 when something is due within a minute, else 15.

    In the last three seconds before a due instant it is the time until 0.4 s after it, and never under half a second:
    a short answer is seen to run (interfaces.md, Side panel).
    """
    dues = [datetime.fromisoformat(card["next_at"]) for card in cards if card["next_at"]]
    left = (min(dues) - now).total_seconds() if dues else 3600.0
    if left < 3:
        return round(max(left + 0.4, 0.5), 1)
    if any(live["s"] in ("running", "queued") for card in cards for live in card["lives"] or ()):
        return 1
    return 2 if left <= 60 else 15


def banner_view(state: Standing, reader: Reader) -> View | None:
    """Return what every page says when nothing can run: the global stop, or a clock that has gone silent."""
    if state.stop is not None:
        who = state.stop.by or _("An operator")
        when = _(" at %(at)s") % {"at": reader.short(state.stop.since)} if state.stop.since else ""
        why = f": “{state.stop.reason}”" if state.stop.reason else ""
        return {
            "code": "stopped_by_operator",
            "fact": _("Everything is on hold."),
            "rest": _("%(who)s stopped all runs%(when)s%(why)s. Nothing is lost; what falls due waits.")
            % {"who": who, "when": when, "why": why},
        }
    if not state.silent:
        return None
    never = state.silent_seconds is None
    return {
        "code": "clock_silent",
        "fact": _("No worker is running.") if never else _("The clock has stopped."),
        "rest": _(
            "Nothing starts until the worker runs again. What falls due meanwhile is caught up or listed as missed."
        ),
    }
