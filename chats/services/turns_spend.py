"""What turns may spend and have spent: reserved at the start, billed at the end of each attempt (accounts.md, Spend)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from accounts.domain.limits import Limits
from accounts.domain.spend import Over
from accounts.models import UsageEntry
from accounts.services.spend import Billed, usage_add
from agents.domain.pricing import MOST_COST, cost_of, estimate_of
from agents.runtime.text import estimate_tokens
from agents.selectors import prices_of
from chats.domain.states import TurnStatus
from chats.models import Message, Turn
from chats.selectors.spend import purses
from core.registry import StartPlan, StartRefused

if TYPE_CHECKING:
    from chats.services.turns_settle import Ended

MOST_TOKENS = 2_147_483_647
RECENT = 5


@dataclass(frozen=True)
class _Wanted:
    turn: Turn
    estimate: Decimal
    budget: Decimal | None
    most: Decimal | None

    @property
    def bound(self) -> bool:
        return self.budget is not None or self.most is not None or self.turn.owner.on_credit


def turns_reserve(
    *, turns: Sequence[Turn], plans: Mapping[int, StartPlan], limits: Mapping[int, Limits], now: datetime
) -> dict[int, Decimal | StartRefused]:
    """Return what each planned turn reserves, or why it may not start: a credit, a budget of the month (gate row 14).

    The caller holds the owners (`owners_hold_counting`) until the reserves are stored. Who is bound by nothing costs
    no query; all others together cost one, and one for each model of turns that no schedule began. A model without
    prices reserves nothing and is bound by nothing.
    """
    asked = [_wanted(turn, plans[turn.pk], limits) for turn in turns if turn.pk in plans]
    wanted = [one for one in asked if one is not None]
    zones = {one.turn.owner_id: one.turn.owner.zone for one in wanted if one.bound}
    held = purses(zones, but=[turn.pk for turn in turns], now=now)
    answers: dict[int, Decimal | StartRefused] = {}
    for one in wanted:
        turn, over = one.turn, None
        if turn.owner_id in held:  # also what nothing binds counts for what the owner may spend
            purse = held[turn.owner_id]
            over = purse.take(one.estimate, schedule=turn.billed_to, budget=one.budget, most=one.most)
        answers[turn.pk] = one.estimate if over is None else _refused(turn, over)
    return answers


def _wanted(turn: Turn, plan: StartPlan, limits: Mapping[int, Limits]) -> _Wanted | None:
    prices = prices_of(turn.agent.model)
    tokens = estimate_tokens(turn.agent.instructions) + estimate_tokens(plan.prompt)
    bound = limits[turn.owner_id].monthly_spend is not None or turn.owner.on_credit
    recent = plan.recent_costs if plan.recent_costs is not None else _recent_of(turn) if bound else ()
    estimate = estimate_of(prices, recent=recent, prompt_tokens=tokens)
    return None if estimate is None else _Wanted(turn, estimate, plan.budget, limits[turn.owner_id].monthly_spend)


def _recent_of(turn: Turn) -> list[Decimal]:
    rows = UsageEntry.objects.filter(model=turn.agent.model.public_id, cost__isnull=False).order_by("-id")
    return [cost for cost in rows.values_list("cost", flat=True)[:RECENT] if cost is not None]


def _refused(turn: Turn, over: Over) -> StartRefused:
    if turn.attempts_made and turn.error_code:
        # A retry that is refused ends with the error of its last attempt (Run and turn move together).
        return StartRefused(TurnStatus.FAILED, turn.error_code, turn.error_params)
    return StartRefused(TurnStatus.CANCELLED, over.reason, over.params)


def counted(mine: Sequence[tuple[Turn, Ended]]) -> list[tuple[Turn, Ended]]:
    """Return the ends with usage: a stream that was cut before it reported any is counted by its text, as estimated."""
    cut = [turn.pk for turn, end in mine if _unreported(end)]
    if not cut:
        return list(mine)
    said = Message.objects.filter(turn__in=cut, role="user").values_list("turn_id", "text")
    prompts = {turn_id: text for turn_id, text in said if turn_id is not None}
    return [(turn, _by_text(turn, end, prompts) if turn.pk in cut else end) for turn, end in mine]


def _unreported(end: Ended) -> bool:
    return end.how != "answered" and bool(end.text.strip()) and not (end.input_tokens or end.output_tokens)


def _by_text(turn: Turn, end: Ended, prompts: Mapping[int, str]) -> Ended:
    asked = estimate_tokens(turn.agent.instructions) + estimate_tokens(prompts.get(turn.pk, ""))
    return replace(end, input_tokens=asked, output_tokens=estimate_tokens(end.text), usage_estimated=True)


def turns_bill(mine: Sequence[tuple[Turn, Ended]], *, now: datetime) -> None:
    """Write what attempts used into the ledger of usage, in the transaction that ends their leases; a retry adds up."""
    billed = [_billed(turn, end) for turn, end in mine if end.input_tokens > 0 or end.output_tokens > 0]
    if billed:
        usage_add(billed=billed, now=now)


def _billed(turn: Turn, end: Ended) -> Billed:
    return Billed(
        owner=turn.owner,
        key=f"{turn.public_id}:{end.fence}",
        turn=turn.public_id,
        schedule=turn.billed_to,
        agent=turn.agent.public_id,
        model=turn.agent.model.public_id,
        kind=turn.origin,
        input_tokens=storable(end.input_tokens),
        cached_tokens=storable(end.cached_tokens),
        output_tokens=storable(end.output_tokens),
        cost=_cost(turn, end),
        estimated=end.usage_estimated,
    )


def _cost(turn: Turn, end: Ended) -> Decimal | None:
    return cost_of(
        prices_of(turn.agent.model),
        input_tokens=storable(end.input_tokens),
        cached_tokens=storable(end.cached_tokens),
        output_tokens=storable(end.output_tokens),
    )


def usage_columns(turn: Turn, end: Ended) -> dict[str, Any]:
    """Return the turn's totals after one more attempt; from here on nothing is reserved for it."""
    cost = _cost(turn, end)
    return {
        "input_tokens": storable(turn.input_tokens + end.input_tokens),
        "cached_tokens": storable(turn.cached_tokens + end.cached_tokens),
        "output_tokens": storable(turn.output_tokens + end.output_tokens),
        "usage_estimated": turn.usage_estimated or end.usage_estimated,
        "cost": turn.cost if cost is None else min((turn.cost or Decimal(0)) + cost, MOST_COST),
        "reserved": Decimal(0),
    }


def storable(tokens: int) -> int:
    """Return a provider's figure as a column takes it: nonsense must not make a settle fail (R39)."""
    return min(max(tokens, 0), MOST_TOKENS)
