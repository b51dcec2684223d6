"""What the dialog says a schedule will cost: from its last runs, before the first from its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from accounts.models import User
from agents.domain.pricing import estimate_of
from agents.runtime.text import estimate_tokens
from agents.selectors import agent_find, prices_of
from core.human import money
from schedules.domain.cadence import CadenceError, parse_cadence
from schedules.domain.pace import runs_a_month
from schedules.models import Schedule
from schedules.selectors.lists import schedule_find
from schedules.selectors.spend import costs_of


@dataclass(frozen=True)
class Asked:
    """What will be asked of whom: the agent's public id, the prompt, and the schedule when there is one already."""

    agent: str = ""
    prompt: str = ""
    schedule: Schedule | None = None


def asked_of(owner: User, values: Mapping[str, Any]) -> Asked:
    """Return what the dialog's fields ask; `schedule` among them is the public id of what is edited."""
    known = values.get("schedule")
    found = schedule_find(owner, str(known)) if known else None
    return Asked(str(values.get("agent", "")), str(values.get("prompt", "")), found)


def cost_words(*, owner: User, asked: Asked, cadence: Mapping[str, Any], zone: str, now: datetime) -> str:
    """Return "About 0.12 per run, 3.60 a month."; nothing when no price is known, or there is nothing to go by."""
    agent = agent_find(owner, asked.agent) if asked.agent and asked.prompt else None
    if agent is None:
        return ""
    recent = costs_of(asked.schedule) if asked.schedule is not None else []
    tokens = estimate_tokens(agent.instructions) + estimate_tokens(asked.prompt)
    each = estimate_of(prices_of(agent.model), recent=recent, prompt_tokens=tokens)
    if not each:
        return ""
    times = _times(cadence, zone, now)
    said = {"run": money(each), "month": money(each * times)}
    if recent:
        text = _("About %(run)s per run, %(month)s a month.") if times > 1 else _("About %(run)s per run.")
    elif times > 1:
        text = _("At least %(run)s per run, %(month)s a month: the prompt alone, answers come on top.")
    else:
        text = _("At least %(run)s per run: the prompt alone, the answer comes on top.")
    return text % said


def _times(cadence: Mapping[str, Any], zone: str, now: datetime) -> int:
    try:
        return runs_a_month(parse_cadence(dict(cadence), zone=zone, now=now), zone, now)
    except CadenceError:
        return 0
