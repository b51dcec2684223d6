"""What others may know of an agent without reading its row."""

from dataclasses import dataclass, field

from agents.domain.pricing import Prices


@dataclass(frozen=True)
class AgentFacts:
    """`owner_id` None means shared; `model_ok` is false when its model or provider is off or gone."""

    id: int
    name: str
    owner_id: int | None
    deleted: bool
    enabled: bool
    model_ok: bool
    prices: Prices = field(default_factory=Prices)
