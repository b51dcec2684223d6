"""What tokens cost: exact amounts, rounded once (accounts.md, Spend)."""

from decimal import Decimal

import pytest

from agents.domain.pricing import MOST_COST, Prices, cost_of, estimate_of

D = Decimal
THREE = Prices(D(3), D("0.3"), D(15))

COSTS = [
    # prices, input, cached, output, cost
    (THREE, 1_200, 200, 400, "0.00906"),
    (THREE, 0, 0, 0, "0"),
    (THREE, 1_000_000, 0, 0, "3"),
    (THREE, 1_000_000, 1_000_000, 0, "0.3"),
    (THREE, 0, 0, 1_000_000, "15"),
    (Prices(D("0.1"), None, None), 100_000, 50_000, 9, "0.01"),  # cached input costs what input does
    (Prices(D(3), D(0), D(15)), 1_000_000, 1_000_000, 0, "0"),  # unless it is free
    (Prices(None, None, D(2)), 500, 0, 500_000, "1"),
    (Prices(D("0.5"), None, D(0)), 1, 0, 0, "0.000001"),  # half a step is rounded up
    (Prices(D("0.49"), None, D(0)), 1, 0, 0, "0"),
    (Prices(D("0.1"), None, D(0)), 3_000_000, 0, 0, "0.3"),  # no binary fraction: three times 0.1 is 0.3
    (THREE, 100, 500, 0, "0.00003"),  # more cached than sent: all of it was cached
    (THREE, -5, -5, -5, "0"),
    (Prices(D(999_999), None, D(999_999)), 2_147_483_647, 0, 2_147_483_647, str(MOST_COST)),
]


@pytest.mark.parametrize(("prices", "sent", "cached", "answered", "cost"), COSTS)
def test_an_attempt_costs_what_its_tokens_cost(prices, sent, cached, answered, cost):
    assert cost_of(prices, input_tokens=sent, cached_tokens=cached, output_tokens=answered) == D(cost)


def test_without_prices_nothing_has_a_cost():
    """Not known is not free of charge: the cost is empty, not zero."""
    assert cost_of(Prices(), input_tokens=1_000_000, output_tokens=5) is None
    assert cost_of(Prices(cached=D(1)), input_tokens=1_000_000) is None


ESTIMATES = [
    (THREE, [], 1_000_000, D(3)),
    (THREE, [D("0.2"), D("0.7"), D("0.1")], 1_000_000, D("0.7")),
    (THREE, [D(0)], 1_000_000, D(0)),
    (Prices(), [D("0.2")], 1_000_000, None),
]


@pytest.mark.parametrize(("prices", "recent", "prompt", "estimate"), ESTIMATES)
def test_the_dearest_of_the_last_ones_is_reserved_and_before_the_first_the_prompts_price(
    prices, recent, prompt, estimate
):
    assert estimate_of(prices, recent=recent, prompt_tokens=prompt) == estimate
