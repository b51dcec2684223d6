"""What tokens cost, in exact decimals. Pure. Amounts are in the one currency that operators enter prices in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

STEP = Decimal("0.000001")
"""The smallest amount that is kept: what one attempt costs is rounded to it once, halves up."""
MOST_COST = Decimal("99999999.999999")
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True)
class Prices:
    """Per million tokens; None is not known. Cached input costs what input does where it has no price of its own."""

    input: Decimal | None = None
    cached: Decimal | None = None
    output: Decimal | None = None

    @property
    def known(self) -> bool:
        """Return whether anything is known: without, a model costs nothing and no budget binds its turns."""
        return self.input is not None or self.output is not None


def cost_of(prices: Prices, *, input_tokens: int, cached_tokens: int = 0, output_tokens: int = 0) -> Decimal | None:
    """Return what one attempt costs, None without prices. `cached_tokens` are part of `input_tokens`.

    Figures of a provider that make no sense (below zero, more cached than sent) count as nothing, never negative.
    """
    if not prices.known:
        return None
    cached = min(max(cached_tokens, 0), max(input_tokens, 0))
    fresh = max(input_tokens, 0) - cached
    of_input = prices.input or Decimal(0)
    of_cached = of_input if prices.cached is None else prices.cached
    spent = fresh * of_input + cached * of_cached + max(output_tokens, 0) * (prices.output or Decimal(0))
    return min((spent / _MILLION).quantize(STEP, ROUND_HALF_UP), MOST_COST)


def estimate_of(prices: Prices, *, recent: Iterable[Decimal], prompt_tokens: int) -> Decimal | None:
    """Return what is reserved for a turn: the dearest of `recent`, before the first the prompt's price; None is free."""
    if not prices.known:
        return None
    dearest = max(recent, default=None)
    return cost_of(prices, input_tokens=prompt_tokens) if dearest is None else dearest
