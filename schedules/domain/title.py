"""What the conversation of an occurrence is called, and the words its prompt may ask for. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from core.text import graphemes, shorten

_VARIABLE = re.compile(r"\{\{\s*([a-z_]+(?:\.[a-z0-9_]+)?)\s*\}\}")
KNOWN = ("date", "time", "weekday", "last_run", "last_answer")
MOST = 1000  # code points: the width of a conversation's title


def title_of(name: str, at: datetime, zone: ZoneInfo) -> str:
    """Return the schedule's name with the occurrence's local date and time.

    With the offset when that time comes twice, so that a reader can tell the two apart (B05). A name that leaves no
    room for the time is cut between characters (B83).
    """
    local = at.astimezone(zone)
    stamp = local.strftime("%Y-%m-%d %H:%M")
    if local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset():
        stamp += local.strftime(" %z")
    end = f" · {stamp}"
    while len(name) + len(end) > MOST:
        name = shorten(name, graphemes(name) - 1)
    return name + end


def moment_words(at: datetime, zone: ZoneInfo) -> str:
    """Return an instant for a prompt: `Wed 24 March 2027, 02:30`."""
    local = at.astimezone(zone)
    return f"{local:%a} {local.day} {local:%B %Y}, {local:%H:%M}"


def variables(at: datetime, zone: ZoneInfo) -> dict[str, str]:
    """Return what the occurrence itself fills in: its local date, time and weekday (B84: of its slot, also late)."""
    local = at.astimezone(zone)
    return {"date": f"{local:%Y-%m-%d}", "time": f"{local:%H:%M}", "weekday": f"{local:%A}"}


def given(inputs: Mapping[str, str]) -> dict[str, str]:
    """Return what a fire gave under the names that the prompt calls it: `inputs.<name>`.

    The texts are data: `fill` goes over the prompt once, so a variable inside one of them stays as it was sent.
    """
    return {f"inputs.{name}": text for name, text in inputs.items()}


def asked_for(prompt: str) -> set[str]:
    """Return the known variables that stand in `prompt`."""
    return {name for name in _VARIABLE.findall(prompt) if name in KNOWN}


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """Return `prompt` with its variables filled in; an unknown one stays as typed."""
    return _VARIABLE.sub(lambda match: values.get(match.group(1), match.group(0)), prompt)
