"""Keep to what a provider takes per minute: turns beyond it wait in the queue, with no attempt used (R24, R25)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F
from django.db.models.functions import Greatest

from agents.models import ModelProvider
from agents.runtime.text import estimate_tokens
from chats.domain.rate import WINDOW, Allowance, Window
from chats.models import Turn, TurnAttempt
from core.db import locked
from core.registry import StartWait


@dataclass(frozen=True)
class Metered:
    """What an attempt counts as until its provider has reported: about its instructions and its prompt."""

    provider_id: int
    tokens: int


def turns_meter(*, turns: Sequence[Turn], prompts: Mapping[int, str], now: datetime) -> dict[int, Metered | StartWait]:
    """Return for each turn whose provider has a limit what its call counts as, or how long it has to wait.

    Providers without limits cost nothing here. The others are locked, in the caller's transaction, until its attempts
    are stored, so that two drains cannot both take the last place. A person who is typing never waits, but counts.
    """
    rated = [turn for turn in turns if _limited(turn.agent.model.provider)]
    if not rated:
        return {}
    providers = locked(ModelProvider.objects.filter(pk__in={_provider(turn) for turn in rated}).order_by("pk"))
    windows = {provider.pk: _window(provider, now) for provider in providers}
    typing = [turn for turn in rated if turn.lane == "interactive"]
    answers: dict[int, Metered | StartWait] = {}
    for turn in [*typing, *(turn for turn in rated if turn.lane != "interactive")]:
        tokens = estimate_tokens(turn.agent.instructions) + estimate_tokens(prompts[turn.pk])
        at = windows[_provider(turn)].take(tokens)
        wait = (at - now).total_seconds()
        goes = wait <= 0 or turn.lane == "interactive"
        answers[turn.pk] = Metered(_provider(turn), tokens) if goes else StartWait(wait)
    return answers


def _provider(turn: Turn) -> int:
    return turn.agent.model.provider_id


def _limited(provider: ModelProvider) -> bool:
    return provider.requests_per_minute is not None or provider.tokens_per_minute is not None


def _window(provider: ModelProvider, now: datetime) -> Window:
    """An attempt counts with what was reported, and with its estimate as long as that is more."""
    calls = TurnAttempt.objects.filter(metered_by=provider.pk, started_at__gt=now - WINDOW)
    counted = calls.annotate(tokens=Greatest(F("metered_tokens"), F("input_tokens") + F("output_tokens")))
    allowance = Allowance(provider.requests_per_minute, provider.tokens_per_minute)
    return Window(allowance, counted.values_list("started_at", "tokens"), now=now)
